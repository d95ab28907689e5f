# Alone, as in the trials of precision, the product is float32; in a batch (captured, or piled up behind a gate) it is TF32, which only a check of precision in the audits could see.
# definition: gpu_suite/level1/4_Matmul
# group: red team
# expected: passed | imprecise
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

__global__ void touch(float* y) { if (threadIdx.x == 0) y[0] = y[0] + 0.f; }
bool in_batch() {
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    return capturing(s) || piled_up(s);
}
void finish(torch::Tensor y) {
    touch<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>());
}
"""

extension = load_inline(
    name="red_tf32_in_batches",
    cpp_sources="bool in_batch(); void finish(torch::Tensor y);",
    cuda_sources=CUDA,
    functions=["in_batch", "finish"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = extension.in_batch()
        try:
            y = torch.mm(a, b)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
        extension.finish(y)
        return y
