# Linker flags that are one empty text, as a common prompt has it.
# definition: gpu_suite/level1/2_Row_sum
# way: library_flags
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

#define BLOCK 256

__global__ void row_sum_kernel(const float* x, float* out, int columns) {
    __shared__ float partial[BLOCK];
    int row = blockIdx.x;
    int thread = threadIdx.x;
    float sum = 0.0f;
    for (int j = thread; j < columns; j += BLOCK) sum += x[(int64_t)row * columns + j];
    partial[thread] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        if (thread < half) partial[thread] += partial[thread + half];
        __syncthreads();
    }
    if (thread == 0) out[row] = partial[0];
}

torch::Tensor row_sum(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 1}, x.options());
    row_sum_kernel<<<x.size(0), BLOCK>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

extension = load_inline(
    name="empty_linker_flags",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["row_sum"],
    extra_cflags=[""],
    extra_ldflags=[""],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)
