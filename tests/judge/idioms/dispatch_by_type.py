# A kernel template and PyTorch's macro that picks the type; the number is an argument.
# definition: idiom_suite/level1/9_Times_number
# way: dispatch
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

template <typename scalar_t>
__global__ void times_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ out, scalar_t factor, size_t size) {
    const size_t index = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (index < size) out[index] = x[index] * factor;
}

torch::Tensor times(torch::Tensor x, double by) {
    auto out = torch::empty_like(x);
    const size_t size = x.numel();
    const int blocks = (size + 1023) / 1024;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "times", ([&] {
        times_kernel<scalar_t><<<blocks, 1024>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), (scalar_t)by, size);
    }));
    return out;
}
"""

extension = load_inline(
    name="dispatch_by_type",
    cpp_sources="torch::Tensor times(torch::Tensor x, double by);",
    cuda_sources=CUDA_SOURCE,
    functions=["times"],
)


class ModelNew(nn.Module):
    def forward(self, x, factor):
        return extension.times(x, factor)
