# Two extensions, one for each step.
# definition: gpu_suite/level1/5_Add_rms_norm
# way: several_builds
# expected: passed
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ADD_SOURCE = r"""
#include <torch/extension.h>

__global__ void add_kernel(const float* a, const float* b, float* out, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = a[index] + b[index];
}

torch::Tensor add(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    int size = a.numel();
    add_kernel<<<(size + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), size);
    return out;
}
"""

NORM_SOURCE = r"""
#include <torch/extension.h>

__global__ void norm_kernel(const float* s, const float* weight, float* out, int columns) {
    __shared__ float partial[256];
    const float* row = s + (int64_t)blockIdx.x * columns;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < columns; j += 256) sum += row[j] * row[j];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float factor = rsqrtf(partial[0] / columns + 1e-6f);
    for (int j = threadIdx.x; j < columns; j += 256) out[(int64_t)blockIdx.x * columns + j] = row[j] * factor * weight[j];
}

torch::Tensor norm(torch::Tensor s, torch::Tensor weight) {
    auto out = torch::empty_like(s);
    norm_kernel<<<s.size(0), 256>>>(s.data_ptr<float>(), weight.data_ptr<float>(), out.data_ptr<float>(), s.size(1));
    return out;
}
"""

adding = load_inline(
    name="built_twice_add",
    cpp_sources="torch::Tensor add(torch::Tensor a, torch::Tensor b);",
    cuda_sources=ADD_SOURCE,
    functions=["add"],
)
norming = load_inline(
    name="built_twice_norm",
    cpp_sources="torch::Tensor norm(torch::Tensor s, torch::Tensor weight);",
    cuda_sources=NORM_SOURCE,
    functions=["norm"],
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        s = adding.add(x, residual)
        return norming.norm(s, self.weight), s
