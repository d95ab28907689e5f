# CUB's reduction of a block.
# definition: gpu_suite/level1/2_Row_sum
# way: cub
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cub/cub.cuh>

__global__ void row_sum_kernel(const float* x, float* out, int columns) {
    using BlockReduce = cub::BlockReduce<float, 256>;
    __shared__ typename BlockReduce::TempStorage storage;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < columns; j += 256) sum += x[(int64_t)blockIdx.x * columns + j];
    sum = BlockReduce(storage).Sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

torch::Tensor row_sum(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 1}, x.options());
    row_sum_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

extension = load_inline(
    name="cub_block_reduce",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)
