# A buffer of the module's own, and loads of four floats at a time.
# definition: idiom_suite/level1/8_Add_positions
# way: buffers
# expected: passed
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void add_table_kernel(const float4* x, const float4* table, float4* out, int64_t of_batch, int64_t size) {
    int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (index >= size) return;
    float4 a = x[index], b = table[index % of_batch];
    out[index] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

torch::Tensor add_table(torch::Tensor x, torch::Tensor table) {
    auto out = torch::empty_like(x);
    int64_t size = x.numel() / 4;
    add_table_kernel<<<(size + 255) / 256, 256>>>(
        reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<const float4*>(table.data_ptr<float>()),
        reinterpret_cast<float4*>(out.data_ptr<float>()), x.size(1) * x.size(2) / 4, size);
    return out;
}
"""

extension = load_inline(
    name="buffers_registered",
    cpp_sources="torch::Tensor add_table(torch::Tensor x, torch::Tensor table);",
    cuda_sources=CUDA_SOURCE,
    functions=["add_table"],
)


class ModelNew(nn.Module):
    def __init__(self, longest, dim):
        super().__init__()
        place = torch.arange(longest).unsqueeze(1)
        wave = torch.exp(torch.arange(dim) * (-8.0 / dim))
        self.register_buffer("table", torch.sin(place * wave), persistent=False)

    def forward(self, x):
        return extension.add_table(x.contiguous(), self.table)
