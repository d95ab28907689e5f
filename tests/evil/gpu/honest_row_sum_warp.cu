// Row sums with one warp a row: float4 loads into four partial sums, then warp shuffles.
// definition: gpu_suite/level1/2_Row_sum
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int WARPS = 8;

// vectors: float4 of a row that may be loaded as such; 0 where rows are not aligned.
__global__ void row_sum(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t columns,
                        int64_t vectors) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;  // whole warps leave together
    const float* values = x + row * columns;
    float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int64_t i = lane; i < vectors; i += 32) {
        const float4 value = reinterpret_cast<const float4*>(values)[i];
        sums.x += value.x;
        sums.y += value.y;
        sums.z += value.z;
        sums.w += value.w;
    }
    float sum = (sums.x + sums.y) + (sums.z + sums.w);
    for (int64_t i = 4 * vectors + lane; i < columns; i += 32) sum += values[i];
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (lane == 0) out[row] = sum;
}

}  // namespace

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t one, cudaStream_t stream) {
    (void)one;
    const bool aligned = columns % 4 == 0 && reinterpret_cast<uintptr_t>(x) % sizeof(float4) == 0;
    const int64_t blocks = (rows + WARPS - 1) / WARPS;
    row_sum<<<static_cast<unsigned>(blocks), 32 * WARPS, 0, stream>>>(x, out, rows, columns, aligned ? columns / 4 : 0);
}
