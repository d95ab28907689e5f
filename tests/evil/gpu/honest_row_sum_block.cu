// Row sums with one block a row, in two passes: warps reduce into shared memory, then the first warp reduces those.
// definition: gpu_suite/level1/2_Row_sum
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

__global__ void row_sum(const float* __restrict__ x, float* __restrict__ out, int64_t columns) {
    __shared__ float partial[WARPS];
    const float* values = x + blockIdx.x * columns;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) sum += values[i];
    sum = warp_sum(sum);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        sum = warp_sum(lane < WARPS ? partial[lane] : 0.0f);
        if (lane == 0) out[blockIdx.x] = sum;
    }
}

}  // namespace

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t one, cudaStream_t stream) {
    (void)one;
    row_sum<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, out, columns);
}
