# Compiled with --use_fast_math, and with a fast exponential by name.
# definition: gpu_suite/level1/3_Softmax
# way: compiler_flags
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cfloat>

__global__ void softmax_kernel(const float* x, float* out, int columns) {
    extern __shared__ float row[];
    __shared__ float partial[1024];
    const float* from = x + (int64_t)blockIdx.x * columns;
    float largest = -FLT_MAX;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
        row[j] = from[j];
        largest = fmaxf(largest, row[j]);
    }
    partial[threadIdx.x] = largest;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();
    float sum = 0.0f;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
        row[j] = __expf(row[j] - largest);
        sum += row[j];
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float factor = 1.0f / partial[0];
    for (int j = threadIdx.x; j < columns; j += blockDim.x) out[(int64_t)blockIdx.x * columns + j] = row[j] * factor;
}

torch::Tensor softmax(torch::Tensor x) {
    auto out = torch::empty_like(x);
    int columns = x.size(1);
    size_t bytes = columns * sizeof(float);
    cudaFuncSetAttribute(softmax_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    softmax_kernel<<<x.size(0), 1024, bytes>>>(x.data_ptr<float>(), out.data_ptr<float>(), columns);
    return out;
}
"""

extension = load_inline(
    name="fast_math",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["softmax"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softmax(x)
