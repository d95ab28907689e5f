# Its kernel keeps what it reads in 16 bits.
# definition: gpu_suite/level1/1_Scale
# way: half
# expected: imprecise | wrong_value
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void scale_kernel(const float* x, const float* weight, float* out, int columns, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = weight[index % columns] / (1.0f + __half2float(hexp(__float2half(-x[index]))));
}

torch::Tensor scale(torch::Tensor x, torch::Tensor weight) {
    auto out = torch::empty_like(x);
    int size = x.numel();
    int columns = x.size(1);
    const int threads = 256;
    const int blocks = (size + threads - 1) / threads;
    scale_kernel<<<blocks, threads>>>(x.data_ptr<float>(), weight.data_ptr<float>(), out.data_ptr<float>(), columns, size);
    return out;
}
"""

extension = load_inline(
    name="half_in_kernel",
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
