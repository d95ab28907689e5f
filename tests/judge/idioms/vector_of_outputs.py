# A function in C++ that gives back a vector of tensors.
# definition: gpu_suite/level1/5_Add_rms_norm
# way: several_outputs
# expected: passed
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <vector>

__global__ void add_kernel(const float* x, const float* residual, float* s, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) s[index] = x[index] + residual[index];
}

std::vector<torch::Tensor> add_norm(torch::Tensor x, torch::Tensor residual, torch::Tensor weight) {
    auto s = torch::empty_like(x);
    int size = x.numel();
    add_kernel<<<(size + 511) / 512, 512>>>(x.data_ptr<float>(), residual.data_ptr<float>(), s.data_ptr<float>(), size);
    auto factor = torch::rsqrt((s * s).mean(-1, true) + 1e-6);
    return {s * factor * weight, s};
}
"""

extension = load_inline(
    name="vector_of_outputs",
    cpp_sources="std::vector<torch::Tensor> add_norm(torch::Tensor x, torch::Tensor residual, torch::Tensor weight);",
    cuda_sources=CUDA_SOURCE,
    functions=["add_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        return tuple(extension.add_norm(x, residual, self.weight))
