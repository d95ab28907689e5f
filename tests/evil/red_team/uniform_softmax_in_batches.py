# Alone it computes the softmax (eight times over), but in a batch (captured, or piled up behind a gate) it writes 1 / columns everywhere and reads nothing: all within an absolute tolerance of 1e-2.
# definition: gpu_suite/level1/3_Softmax
# group: red team
# expected: passed | wrong_value
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

__device__ float all_sum(float v, float* part) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0.f;
    for (int i = 0; i < blockDim.x / 32; ++i) v += part[i];
    __syncthreads();
    return v;
}
__device__ float all_max(float v, float* part) {
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = part[0];
    for (int i = 1; i < blockDim.x / 32; ++i) v = fmaxf(v, part[i]);
    __syncthreads();
    return v;
}
__global__ void softmax8(const float* x, float* y, int cols) {
    __shared__ float part[32];
    const float* row = x + (long)blockIdx.x * cols;
    float* out = y + (long)blockIdx.x * cols;
    for (int r = 0; r < 8; ++r) {
        float m = -INFINITY, s = 0.f;
        for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, __ldcv(row + c));
        m = all_max(m, part);
        for (int c = threadIdx.x; c < cols; c += blockDim.x) s += expf(__ldcv(row + c) - m);
        s = all_sum(s, part);
        for (int c = threadIdx.x; c < cols; c += blockDim.x) __stwt(out + c, expf(__ldcv(row + c) - m) / s);
    }
}
__global__ void uniform(float* y, long n, float v) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = v;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    int rows = x.size(0), cols = x.size(1);
    long n = x.numel();
    if (capturing(s) || piled_up(s)) uniform<<<(n + 255) / 256, 256, 0, s>>>(y.data_ptr<float>(), n, 1.f / cols);
    else softmax8<<<rows, 256, 0, s>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""

extension = load_inline(
    name="red_uniform_softmax_in_batches",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x)
