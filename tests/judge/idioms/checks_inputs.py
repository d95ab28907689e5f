# The usual macros that check device and layout of every argument.
# definition: gpu_suite/level1/1_Scale
# way: error_checks
# expected: passed
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(t) TORCH_CHECK(t.is_cuda(), #t " must be on the GPU")
#define CHECK_CONTIGUOUS(t) TORCH_CHECK(t.is_contiguous(), #t " must be contiguous")
#define CHECK_INPUT(t) CHECK_CUDA(t); CHECK_CONTIGUOUS(t)

__global__ void scale_kernel(const float* x, const float* weight, float* out, int columns, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = weight[index % columns] / (1.0f + expf(-x[index]));
}

torch::Tensor scale(torch::Tensor x, torch::Tensor weight) {
    CHECK_INPUT(x);
    CHECK_INPUT(weight);
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "float32 only");
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
    name="checks_inputs",
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
