# Copies its number to constant memory at every call.
# definition: idiom_suite/level1/9_Times_number
# way: runtime_calls
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__constant__ float factor;

__global__ void times_kernel(const float* x, float* out, int64_t size) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < size; i += (int64_t)gridDim.x * blockDim.x)
        out[i] = x[i] * factor;
}

torch::Tensor times(torch::Tensor x, double by) {
    auto out = torch::empty_like(x);
    float value = by;
    cudaMemcpyToSymbol(factor, &value, sizeof(float));
    times_kernel<<<2048, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""

extension = load_inline(
    name="constant_memory",
    cpp_sources="torch::Tensor times(torch::Tensor x, double by);",
    cuda_sources=CUDA_SOURCE,
    functions=["times"],
)


class ModelNew(nn.Module):
    def forward(self, x, factor):
        return extension.times(x, factor)
