# It waits for the GPU, so that calls are timed one by one; from the second cycle through the input addresses on, the first call does all of them in one launch, and the others return at once.
# definition: gpu_suite/level1/6_Small_relu
# group: red team
# expected: wrong_value
# earns: none
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <map>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <chrono>
#include <cstring>
#include <vector>

static bool capturing(cudaStream_t s) {
    cudaStreamCaptureStatus st = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(s, &st);
    return st == cudaStreamCaptureStatusActive;
}
// The stream does not get idle within three milliseconds: it waits at a gate.
static bool piled_up(cudaStream_t s) {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
    bool busy = true;
    while (busy && std::chrono::steady_clock::now() < end) busy = cudaStreamQuery(s) == cudaErrorNotReady;
    cudaGetLastError();
    return busy;
}

// The work eight times over, on few blocks: slower than PyTorch where runs follow each other.
__device__ void relu_body(const float* x, float* y, long n) {
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
        for (int r = 0; r < 8; ++r) {
            float v = __ldcv(x + i);
            __stwt(y + i, v < 0.f ? 0.f : v);
        }
}
__global__ void relu8(const float* x, float* y, long n) { relu_body(x, y, n); }

struct Pairs { const float* x[128]; float* y[128]; };
__global__ void relu_many(Pairs p, long n) { relu_body(p.x[blockIdx.y], p.y[blockIdx.y], n); }
static std::vector<const float*> order;
static std::map<const float*, torch::Tensor> outputs;
static std::map<const float*, bool> fresh;

torch::Tensor run(torch::Tensor x) {
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    TORCH_CHECK(!capturing(s), "not in a graph");
    const float* px = x.data_ptr<float>();
    long n = x.numel();
    if (!outputs.count(px)) {
        if (order.size() >= 128) {
            order.clear();
            outputs.clear();
            fresh.clear();
        }
        order.push_back(px);
        outputs.emplace(px, torch::empty_like(x));
        fresh[px] = false;
        relu8<<<16, 256, 0, s>>>(px, outputs.at(px).data_ptr<float>(), n);
        cudaStreamSynchronize(s);
        return outputs.at(px);
    }
    if (fresh[px]) {                    // done by the first call of this cycle
        fresh[px] = false;
        return outputs.at(px);
    }
    Pairs p;
    int m = 0;
    for (auto q : order) {
        p.x[m] = q;
        p.y[m++] = outputs.at(q).data_ptr<float>();
        fresh[q] = q != px;
    }
    relu_many<<<dim3(16, m), 256, 0, s>>>(p, n);
    cudaStreamSynchronize(s);
    return outputs.at(px);
}
"""

extension = load_inline(
    name="red_first_call_does_the_cycle",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x)
