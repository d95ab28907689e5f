# Writes its sources to a temporary folder and builds them with cpp_extension.load.
# definition: gpu_suite/level1/1_Scale
# way: load_from_files
# expected: passed | not_judged
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.cpp_extension import load

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

folder = Path(tempfile.mkdtemp())
(folder / "scale.cu").write_text(CUDA_SOURCE)
extension = load(name="loaded_from_files", sources=[str(folder / "scale.cu")], extra_cuda_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return extension.scale(x, self.weight)
