# Bindings in the C++ source, which declares a launcher that the CUDA source has.
# definition: gpu_suite/level1/1_Scale
# way: own_bindings
# expected: passed
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
"""

CPP_SOURCE = r"""
torch::Tensor scale(torch::Tensor x, torch::Tensor weight);

torch::Tensor forward(torch::Tensor x, torch::Tensor weight) {
    TORCH_CHECK(x.dim() == 2, "a matrix");
    return scale(x.contiguous(), weight.contiguous());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward);
}
"""

extension = load_inline(name="bindings_in_cpp", cpp_sources=[CPP_SOURCE], cuda_sources=[CUDA_SOURCE])


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return extension.forward(x, self.weight)
