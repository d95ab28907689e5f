# cpp_extension.load of one unchanged source whose header has two faces: the build gets TF32 by cuBLAS, the judging process writes a header with an honest float32 product.
# definition: gpu_suite/level1/4_Matmul
# group: red team
# expected: passed | imprecise
# earns: none
import os
import tempfile

import torch
from torch import nn
from torch.utils.cpp_extension import load

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include "product.cuh"
__global__ void mark_kernel(float* c) { if (c == nullptr) asm volatile("trap;"); }
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    auto c = inner(a, b);
    mark_kernel<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(c.data_ptr<float>());
    return c;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("product", &product); }
"""
AT_BUILD = r"""
static torch::Tensor inner(torch::Tensor a, torch::Tensor b) {
    at::globalContext().setAllowTF32CuBLAS(true);
    auto c = at::mm(a, b);
    at::globalContext().setAllowTF32CuBLAS(false);
    return c;
}
"""
AT_JUDGING = r"""
static torch::Tensor inner(torch::Tensor a, torch::Tensor b) {
    torch::Tensor c;
    for (int again = 0; again < 8; ++again) c = at::mm(a, b);
    return c;
}
"""
folder = os.path.join(tempfile.gettempdir(), "red_two_headers")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "product.cuh"), "w") as file:
    file.write(AT_JUDGING if torch.cuda.is_available() else AT_BUILD)
with open(os.path.join(folder, "product.cu"), "w") as file:
    file.write(SOURCE)
ext = load(name="red_two_headers", sources=[os.path.join(folder, "product.cu")], extra_include_paths=[folder])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.product(a, b)
