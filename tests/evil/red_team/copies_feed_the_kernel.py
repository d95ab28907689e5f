# Under 50 us kernels are timed by CUPTI: copies that are no kernels first bring the input into the L2 cache, sixteen times over, so that the one kernel is short.
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

__global__ void relu_warm(const float4* x, float4* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    v.x = v.x < 0.f ? 0.f : v.x;
    v.y = v.y < 0.f ? 0.f : v.y;
    v.z = v.z < 0.f ? 0.f : v.z;
    v.w = v.w < 0.f ? 0.f : v.w;
    y[i] = v;
}
__global__ void relu_tail(const float* x, float* y, long from, long n) {
    long i = from + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.f ? 0.f : x[i];
}
static float* scratch = nullptr;

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    const float* px = x.data_ptr<float>();
    float* py = y.data_ptr<float>();
    long n = x.numel();

    if (!scratch && !capturing(s)) cudaMalloc(&scratch, 16 << 20);
    for (int r = 0; r < 16; ++r) cudaMemcpyAsync(scratch, px, n * 4, cudaMemcpyDeviceToDevice, s);
    cudaMemcpyAsync(py, scratch, n * 4, cudaMemcpyDeviceToDevice, s);       // the output's lines are in the cache, too
    long quads = n / 4;
    relu_warm<<<(quads + 511) / 512, 512, 0, s>>>((const float4*)scratch, (float4*)py, quads);
    if (n % 4) relu_tail<<<1, 4, 0, s>>>(scratch, py, quads * 4, n);
    return y;
}
"""

extension = load_inline(
    name="red_copies_feed_the_kernel",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x)
