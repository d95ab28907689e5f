# Asks for a temporary folder and writes a file there, as packages do when they are imported.
# definition: gpu_suite/level1/6_Small_relu
# way: temporary_folder
# expected: passed
import os
import tempfile

from torch import nn
from torch.utils.cpp_extension import load_inline

folder = tempfile.mkdtemp()
os.makedirs(os.path.join(folder, "build"), exist_ok=True)
with open(os.path.join(folder, "build", "note.txt"), "w") as note:
    note.write("compiled by ModelNew")

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* x, float* out, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = fmaxf(x[index], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    int size = x.numel();
    const int threads = 256;
    const int blocks = (size + threads - 1) / threads;
    relu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), size);
    return out;
}
"""

extension = load_inline(
    name="temporary_folder",
    cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
