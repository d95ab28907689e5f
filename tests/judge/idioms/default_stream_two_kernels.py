# Two kernels after each other on the default stream, the second reads the first's result.
# definition: gpu_suite/level1/1_Scale
# way: several_kernels
# expected: passed
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void sigmoid_kernel(const float* x, float* out, int64_t size) {
    int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (index < size) out[index] = 1.0f / (1.0f + expf(-x[index]));
}

__global__ void times_weight_kernel(float* out, const float* weight, int64_t columns, int64_t size) {
    int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (index < size) out[index] *= weight[index % columns];
}

torch::Tensor scale(torch::Tensor x, torch::Tensor weight) {
    auto out = torch::empty_like(x);
    int64_t size = x.numel();
    int threads = 512;
    int blocks = (size + threads - 1) / threads;
    sigmoid_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), size);
    times_weight_kernel<<<blocks, threads>>>(out.data_ptr<float>(), weight.data_ptr<float>(), x.size(1), size);
    return out;
}
"""

extension = load_inline(
    name="two_kernels",
    cpp_sources="torch::Tensor scale(torch::Tensor x, torch::Tensor weight);",
    cuda_sources=CUDA_SOURCE,
    functions=["scale"],
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return extension.scale(x, self.weight)
