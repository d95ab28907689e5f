// Softmax that keeps a whole row in the registers of a block, so that it is read once; longer rows are read again.
// definition: gpu_suite/level1/3_Softmax
// group: honest
// expected: passed
// earns: fast
#include <cmath>
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;
constexpr int HELD = 16;  // values a thread keeps: rows up to 8192 columns

__device__ float block_largest(float value) {
    __shared__ float partial[WARPS];
    const int lane = threadIdx.x % 32;
    for (int distance = 16; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    if (lane == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = lane < WARPS ? partial[lane] : -INFINITY;
    for (int distance = 16; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    return value;
}

__device__ float block_sum(float value) {
    __shared__ float partial[WARPS];
    const int lane = threadIdx.x % 32;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    if (lane == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = lane < WARPS ? partial[lane] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

__global__ void __launch_bounds__(THREADS) softmax(const float* __restrict__ x, float* __restrict__ out,
                                                   int64_t columns) {
    const float* values = x + blockIdx.x * columns;
    float* results = out + blockIdx.x * columns;
    constexpr int64_t COVERED = static_cast<int64_t>(HELD) * THREADS;

    float held[HELD];
    float largest = -INFINITY;
#pragma unroll
    for (int j = 0; j < HELD; ++j) {
        const int64_t i = j * THREADS + threadIdx.x;
        held[j] = i < columns ? values[i] : -INFINITY;
        largest = fmaxf(largest, held[j]);
    }
    for (int64_t i = COVERED + threadIdx.x; i < columns; i += THREADS) largest = fmaxf(largest, values[i]);
    largest = block_largest(largest);

    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < HELD; ++j) {
        held[j] = expf(held[j] - largest);  // 0 beyond the end of the row
        sum += held[j];
    }
    for (int64_t i = COVERED + threadIdx.x; i < columns; i += THREADS) sum += expf(values[i] - largest);
    const float factor = 1.0f / block_sum(sum);

#pragma unroll
    for (int j = 0; j < HELD; ++j) {
        const int64_t i = j * THREADS + threadIdx.x;
        if (i < columns) results[i] = held[j] * factor;
    }
    for (int64_t i = COVERED + threadIdx.x; i < columns; i += THREADS) results[i] = expf(values[i] - largest) * factor;
}

}  // namespace

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
    softmax<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, out, columns);
}
