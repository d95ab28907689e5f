# Writes to its input, as the reference does.
# definition: gpu_suite/level1/7_In_place_scale
# way: in_place
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void halve_kernel(float* x, float* out, int columns) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (int j = threadIdx.x; j < columns; j += 256) {
        int64_t at = (int64_t)blockIdx.x * columns + j;
        x[at] *= 0.5f;
        sum += x[at];
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

torch::Tensor halve(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    halve_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

extension = load_inline(
    name="writes_to_input",
    cpp_sources="torch::Tensor halve(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["halve"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.halve(x)
