# Copies strided inputs, and gives back a strided view of a dense result.
# definition: idiom_suite/level1/7_Heads_softmax
# way: non_contiguous
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void softmax_kernel(const float* x, float* out, int columns) {
    int64_t row = blockIdx.x * (int64_t)blockDim.y + threadIdx.y;
    float largest = -INFINITY;
    for (int j = threadIdx.x; j < columns; j += 32) largest = fmaxf(largest, x[row * columns + j]);
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
    float sum = 0.0f;
    for (int j = threadIdx.x; j < columns; j += 32) sum += expf(x[row * columns + j] - largest);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    for (int j = threadIdx.x; j < columns; j += 32) out[row * columns + j] = expf(x[row * columns + j] - largest) / sum;
}

torch::Tensor softmax(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::empty_like(x);
    int columns = x.size(-1);
    int64_t rows = x.numel() / columns;
    softmax_kernel<<<rows, dim3(32, 1)>>>(x.data_ptr<float>(), out.data_ptr<float>(), columns);
    return out;
}
"""

extension = load_inline(
    name="contiguous_copies",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["softmax"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softmax(x.transpose(1, 2))
