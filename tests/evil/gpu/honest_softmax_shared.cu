// Softmax that stages a row in shared memory where it fits, so that it is read from global memory once.
// definition: gpu_suite/level1/3_Softmax
// group: honest
// expected: passed
// earns: fast
#include <cmath>
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int64_t STAGED_COLUMNS = 11 * 1024;  // 44 KiB, less than the 48 KiB that every kernel may have

__device__ float block_reduce(float value, bool want_largest, float* partial) {
    const float neutral = want_largest ? -INFINITY : 0.0f;
    const int lane = threadIdx.x % 32;
    for (int round = 0; round < 2; ++round) {
        for (int distance = 16; distance > 0; distance /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, value, distance);
            value = want_largest ? fmaxf(value, other) : value + other;
        }
        if (round == 0) {
            if (lane == 0) partial[threadIdx.x / 32] = value;
            __syncthreads();
            value = lane < WARPS ? partial[lane] : neutral;
        }
    }
    return value;
}

template <bool STAGED>
__global__ void softmax(const float* __restrict__ x, float* __restrict__ out, int64_t columns) {
    extern __shared__ float row[];
    __shared__ float largest_of_warps[WARPS];
    __shared__ float sum_of_warps[WARPS];
    const float* values = x + blockIdx.x * columns;
    float* results = out + blockIdx.x * columns;

    // Every thread comes back to its own elements only: no barrier is needed for `row`.
    float largest = -INFINITY;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
        const float value = values[i];
        if (STAGED) row[i] = value;
        largest = fmaxf(largest, value);
    }
    largest = block_reduce(largest, true, largest_of_warps);

    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
        const float power = expf((STAGED ? row[i] : values[i]) - largest);
        if (STAGED) row[i] = power;
        sum += power;
    }
    const float factor = 1.0f / block_reduce(sum, false, sum_of_warps);

    for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
        results[i] = (STAGED ? row[i] : expf(values[i] - largest)) * factor;
    }
}

}  // namespace

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
    if (columns <= STAGED_COLUMNS) {
        softmax<true><<<static_cast<unsigned>(rows), THREADS, columns * sizeof(float), stream>>>(x, out, columns);
    } else {
        softmax<false><<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, out, columns);
    }
}
