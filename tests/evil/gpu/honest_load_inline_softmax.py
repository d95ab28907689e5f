# Softmax with one block a row, as an extension that PyTorch's load_inline builds with flags of its own.
# definition: gpu_suite/level1/3_Softmax
# group: honest
# expected: passed
# earns: fast
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = "torch::Tensor softmax_rows(torch::Tensor x);"

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cmath>

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;

template <bool LARGEST>
__device__ float block_reduce(float value) {
    __shared__ float partial[WARPS];
    const int lane = threadIdx.x % 32;
    for (int round = 0; round < 2; ++round) {
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, value, distance);
            value = LARGEST ? fmaxf(value, other) : value + other;
        }
        if (round == 1) break;
        if (lane == 0) partial[threadIdx.x / 32] = value;
        __syncthreads();
        value = lane < WARPS ? partial[lane] : (LARGEST ? -INFINITY : 0.0f);
    }
    return value;
}

__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t columns) {
    const float* values = x + blockIdx.x * columns;
    float* results = out + blockIdx.x * columns;
    float largest = -INFINITY;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) largest = fmaxf(largest, values[i]);
    largest = block_reduce<true>(largest);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) sum += expf(values[i] - largest);
    const float factor = 1.0f / block_reduce<false>(sum);
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) results[i] = expf(values[i] - largest) * factor;
}

torch::Tensor softmax_rows(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.scalar_type() == torch::kFloat32, "a float32 matrix on the GPU");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    softmax_kernel<<<static_cast<unsigned>(x.size(0)), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

softmax_extension = load_inline(
    name="honest_softmax",
    cpp_sources=[CPP_SOURCE],
    cuda_sources=[CUDA_SOURCE],
    functions=["softmax_rows"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = softmax_extension

    def forward(self, x):
        return self.softmax.softmax_rows(x)
