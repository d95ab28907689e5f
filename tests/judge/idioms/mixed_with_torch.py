# PyTorch's operators before the kernel: the sum and the mean are theirs, the default stream orders both.
# definition: gpu_suite/level1/5_Add_rms_norm
# way: mixed_with_torch
# expected: passed
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void normalise_kernel(const float* s, const float* factor, const float* weight, float* out, int columns) {
    int64_t row = blockIdx.x;
    float by = factor[row];
    for (int j = threadIdx.x; j < columns; j += blockDim.x)
        out[row * columns + j] = s[row * columns + j] * by * weight[j];
}

torch::Tensor normalise(torch::Tensor s, torch::Tensor factor, torch::Tensor weight) {
    auto out = torch::empty_like(s);
    normalise_kernel<<<s.size(0), 256>>>(s.data_ptr<float>(), factor.data_ptr<float>(), weight.data_ptr<float>(),
                                         out.data_ptr<float>(), s.size(1));
    return out;
}
"""

extension = load_inline(
    name="mixed_with_torch",
    cpp_sources="torch::Tensor normalise(torch::Tensor s, torch::Tensor factor, torch::Tensor weight);",
    cuda_sources=CUDA_SOURCE,
    functions=["normalise"],
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        s = x + residual
        factor = torch.rsqrt(s.pow(2).mean(dim=-1) + 1e-6)
        return extension.normalise(s, factor, self.weight), s
