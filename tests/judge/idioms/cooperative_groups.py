# A warp a row, reduced by cooperative groups.
# definition: gpu_suite/level1/2_Row_sum
# way: cooperative_groups
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

#define BLOCK 32

__global__ void row_sum_kernel(const float* x, float* out, int columns) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int row = blockIdx.x;
    int thread = threadIdx.x;
    float sum = 0.0f;
    for (int j = thread; j < columns; j += BLOCK) sum += x[(int64_t)row * columns + j];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (thread == 0) out[row] = sum;
}

torch::Tensor row_sum(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 1}, x.options());
    row_sum_kernel<<<x.size(0), BLOCK>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

extension = load_inline(
    name="cooperative_groups",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)
