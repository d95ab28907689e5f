# In a graph three runs of four launch nothing, in the hope that the one run that is checked is another one; being caught costs only the mode, for a fresh process without captures decides.
# definition: gpu_suite/level1/1_Scale
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

__global__ void scale8(const float* x, const float* w, float* y, long n, int cols) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int r = 0; r < 8; ++r) __stwt(y + i, 1.f / (1.f + expf(-__ldcv(x + i))) * w[i % cols]);
}
static long calls = 0;
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
    auto y = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    long n = x.numel();
    // The first run of a graph and every fourth one are done: `calls` counts from the last run outside a graph.
    if (!capturing(s)) calls = 0;
    else if (calls++ % 4) return y;
    scale8<<<(n + 255) / 256, 256, 0, s>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), n, (int)x.size(1));
    return y;
}
"""

extension = load_inline(
    name="red_skips_runs_when_captured",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w);",
    cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x, self.weight.detach())
