#include <cstdint>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

// Fused: the sum x + bias stays in a register, so x is read once and out is written once.
__global__ void bias_gelu_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ out,
                                 int64_t count, int64_t features) {
    constexpr float INV_SQRT2 = 0.70710678f;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < count) {
        const float sum = x[i] + bias[i % features];
        out[i] = 0.5f * sum * (1.0f + erff(sum * INV_SQRT2));
    }
}

extern "C" void launch(const float* x, const float* bias, float* out, int64_t batch_size, int64_t features,
                       cudaStream_t stream) {
    const int64_t count = batch_size * features;
    const auto blocks = static_cast<unsigned int>((count + THREADS - 1) / THREADS);
    bias_gelu_kernel<<<blocks, THREADS, 0, stream>>>(x, bias, out, count, features);
}
