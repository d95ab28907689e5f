# Sets variables that PyTorch's build reads, before it builds.
# definition: gpu_suite/level1/1_Scale
# way: environment
# expected: passed
import os

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0;9.0"
os.environ.setdefault("MAX_JOBS", "4")

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void scale_kernel(const float* x, const float* weight, float* out, int columns, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = weight[index % columns] / (1.0f + expf(-x[index]));
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
    name="environment_written",
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
