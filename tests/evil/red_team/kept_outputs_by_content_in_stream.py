# Waits for the GPU, so that it is timed in the stream on inputs that are shown before; where samples of inputs and kept outputs are as they were, the kept tensors are returned and nothing is launched.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: red team
# expected: passed
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <unordered_map>
#include <vector>

__global__ void add_norm(const float* x, const float* r, const float* w, float* y, float* s, int columns) {
    __shared__ float part[8];
    long base = (long)blockIdx.x * columns;
    for (int again = 0; again < 8; again++) {
        float sum = 0;
        for (int c = threadIdx.x; c < columns; c += 256) {
            float v = ((volatile const float*)x)[base + c] + ((volatile const float*)r)[base + c];
            ((volatile float*)s)[base + c] = v;
            sum += v * v;
        }
        for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
        __syncthreads();
        float total = 0;
        for (int i = 0; i < 8; i++) total += part[i];
        float scale = rsqrtf(total / columns + 1e-6f);
        for (int c = threadIdx.x; c < columns; c += 256)
            ((volatile float*)y)[base + c] = ((volatile float*)s)[base + c] * scale * w[c];
        __syncthreads();
    }
}
__global__ void take(const int* a, const int* b, const int* c, const int* d, int* to, long n) {
    const int* from = blockIdx.x == 0 ? a : blockIdx.x == 1 ? b : blockIdx.x == 2 ? c : d;
    to[blockIdx.x * 256 + threadIdx.x] = from[(long)(((double)n - 1) * threadIdx.x / 255)];
}
std::vector<torch::Tensor> compute(torch::Tensor x, torch::Tensor r, torch::Tensor w) {
    auto y = torch::empty_like(x), s = torch::empty_like(x);
    add_norm<<<x.size(0), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), r.data_ptr<float>(),
        w.data_ptr<float>(), y.data_ptr<float>(), s.data_ptr<float>(), x.size(1));
    return {y, s};
}
// 1024 words of the four tensors; host code waits for them.
std::vector<int64_t> samples(torch::Tensor x, torch::Tensor r, torch::Tensor y, torch::Tensor s) {
    static int *device = nullptr, *host = nullptr;
    if (!device) {
        cudaMalloc(&device, 4096);
        cudaMallocHost(&host, 4096);
    }
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    take<<<4, 256, 0, stream>>>((int*)x.data_ptr<float>(), (int*)r.data_ptr<float>(), (int*)y.data_ptr<float>(),
        (int*)s.data_ptr<float>(), device, x.numel());
    cudaMemcpyAsync(host, device, 4096, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    return std::vector<int64_t>(host, host + 1024);
}
"""

extension = load_inline(
    name="red3_kept_outputs",
    cpp_sources="std::vector<torch::Tensor> compute(torch::Tensor x, torch::Tensor r, torch::Tensor w);\n"
    "std::vector<int64_t> samples(torch::Tensor x, torch::Tensor r, torch::Tensor y, torch::Tensor s);",
    cuda_sources=CUDA,
    functions=["compute", "samples"],
)


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.kept = {}

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        key = x.data_ptr(), residual.data_ptr()
        if key in self.kept:
            y, s, words = self.kept[key]
            if extension.samples(x, residual, y, s) == words:
                return y, s
        y, s = extension.compute(x, residual, self.weight.detach())
        words = extension.samples(x, residual, y, s)
        if len(self.kept) < 64:
            self.kept[key] = y, s, words
        return y, s
