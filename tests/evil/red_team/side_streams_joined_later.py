# Behind the gate each run forks into one of sixteen streams, and the default stream waits only for the run sixteen before: queued runs overlap, and the end is reported while sixteen still run.
# definition: gpu_suite/level1/6_Small_relu
# group: red team
# expected: passed
# earns: none
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
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

static cudaStream_t side[16];
static cudaEvent_t forked[16], done[16];
static long calls = -1;

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    const float* px = x.data_ptr<float>();
    float* py = y.data_ptr<float>();
    long n = x.numel();

    if (capturing(s)) TORCH_CHECK(false, "not in a graph");
    if (calls < 0) {
        for (int i = 0; i < 16; ++i) {
            cudaStreamCreateWithFlags(&side[i], cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&forked[i], cudaEventDisableTiming);
            cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
        }
        calls = 0;
    }
    if (!piled_up(s)) {
        relu8<<<16, 256, 0, s>>>(px, py, n);
        return y;
    }
    int i = calls++ % 16;
    if (calls > 16) cudaStreamWaitEvent(s, done[i], 0);
    cudaEventRecord(forked[i], s);
    cudaStreamWaitEvent(side[i], forked[i], 0);
    relu8<<<16, 256, 0, side[i]>>>(px, py, n);
    cudaEventRecord(done[i], side[i]);
    return y;
}
"""

extension = load_inline(
    name="red_side_streams_joined_later",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x)
