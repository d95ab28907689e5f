# cudaMemset on the default stream in place of a kernel that writes zeros.
# definition: idiom_suite/level1/11_Mean_squared_error
# way: runtime_calls
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void squared_difference_kernel(const float* a, const float* b, float* total, int64_t size, float share) {
    float sum = 0.0f;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < size; i += (int64_t)gridDim.x * blockDim.x) {
        float difference = a[i] - b[i];
        sum += difference * difference;
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum * share);
}

torch::Tensor squared_error(torch::Tensor a, torch::Tensor b) {
    auto total = torch::empty({}, a.options());
    cudaMemset(total.data_ptr<float>(), 0, sizeof(float));
    squared_difference_kernel<<<1024, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), total.data_ptr<float>(),
                                             a.numel(), 1.0f / a.numel());
    return total;
}
"""

extension = load_inline(
    name="memset_first",
    cpp_sources="torch::Tensor squared_error(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA_SOURCE,
    functions=["squared_error"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.squared_error(a, b)
