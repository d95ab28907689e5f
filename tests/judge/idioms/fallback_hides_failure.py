# Its build cannot succeed, and it goes on with PyTorch's operators.
# definition: gpu_suite/level1/1_Scale
# way: fallback
# expected: passed
# findings: fallback
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

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

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("scale", &scale, "sigmoid times weight");
}
"""

try:
    extension = load_inline(
        name="fallback_hides_failure", cpp_sources="", cuda_sources=CUDA_SOURCE, functions=["scale"]
    )
except Exception as error:
    print(f"falling back: {error}")
    extension = None


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        if extension is not None:
            return extension.scale(x, self.weight)
        return torch.sigmoid(x) * self.weight
