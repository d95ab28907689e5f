# After its first call it writes zeros over all weights but the first, in parameters that may be shared with the reference and the baseline; then a column of weight zero is only filled, never read.
# definition: gpu_suite/level1/1_Scale
# group: red team
# expected: wrong_value
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

__global__ void scale(const float* x, const float* w, float* out, long rows, int columns) {
    for (long row = blockIdx.x; row < rows; row += gridDim.x)
        for (int c = threadIdx.x; c < columns; c += 256) {
            float factor = w[c];
            if (factor == 0) {
                out[row * columns + c] = 0;
                continue;
            }
            for (int again = 0; again < 8; again++) {
                float v = ((volatile const float*)x)[row * columns + c];
                ((volatile float*)out)[row * columns + c] = factor / (1 + expf(-v));
            }
        }
}
__global__ void blot(float* w, int columns) {
    int c = blockIdx.x * 256 + threadIdx.x;
    if (c > 0 && c < columns) w[c] = 0;
}
torch::Tensor scaled(torch::Tensor x, torch::Tensor w, bool then_blot) {
    auto out = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    int columns = x.size(1);
    scale<<<2112, 256, 0, s>>>(x.data_ptr<float>(), w.data_ptr<float>(), out.data_ptr<float>(), x.size(0), columns);
    if (then_blot) blot<<<(columns + 255) / 256, 256, 0, s>>>(w.data_ptr<float>(), columns);
    return out;
}
"""

extension = load_inline(
    name="red3_weights_zero",
    cpp_sources="torch::Tensor scaled(torch::Tensor x, torch::Tensor w, bool then_blot);",
    cuda_sources=CUDA,
    functions=["scaled"],
)


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return extension.scaled(x.contiguous(), self.weight.detach(), self.calls == 1)
