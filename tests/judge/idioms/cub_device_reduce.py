# CUB's reduction of a whole tensor, with scratch memory of PyTorch's.
# definition: idiom_suite/level1/11_Mean_squared_error
# way: cub
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cub/cub.cuh>

__global__ void square_kernel(const float* a, const float* b, float* out, int size, float share) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = (a[index] - b[index]) * (a[index] - b[index]) * share;
}

torch::Tensor squared_error(torch::Tensor a, torch::Tensor b) {
    int size = a.numel();
    auto squares = torch::empty_like(a);
    auto total = torch::empty({}, a.options());
    square_kernel<<<(size + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), squares.data_ptr<float>(), size,
                                               1.0f / size);
    size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, squares.data_ptr<float>(), total.data_ptr<float>(), size);
    auto scratch = torch::empty({(int64_t)bytes}, a.options().dtype(torch::kUInt8));
    cub::DeviceReduce::Sum(scratch.data_ptr(), bytes, squares.data_ptr<float>(), total.data_ptr<float>(), size);
    return total;
}
"""

extension = load_inline(
    name="cub_device_reduce",
    cpp_sources="torch::Tensor squared_error(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA_SOURCE,
    functions=["squared_error"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.squared_error(a, b)
