// Matrix product in float32 with tiles in shared memory and a 4 x 4 patch of results in the registers of each thread.
// definition: gpu_suite/level1/4_Matmul
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int TILE = 64;             // rows and columns of a block's results
constexpr int DEPTH = 16;            // of k, at a time
constexpr int SIDE = 16;             // threads along each side: 256 in all
constexpr int PATCH = TILE / SIDE;   // results of a thread along each side, SIDE apart
constexpr int THREADS = SIDE * SIDE;

__global__ void __launch_bounds__(THREADS) matmul(const float* __restrict__ a, const float* __restrict__ b,
                                                  float* __restrict__ out, int64_t m, int64_t k, int64_t n) {
    __shared__ float a_tile[DEPTH][TILE + 1];  // transposed; one more column against bank conflicts
    __shared__ float b_tile[DEPTH][TILE];
    const int64_t row0 = static_cast<int64_t>(blockIdx.x) * TILE;
    const int64_t column0 = static_cast<int64_t>(blockIdx.y) * TILE;
    const int tx = threadIdx.x % SIDE;
    const int ty = threadIdx.x / SIDE;
    float sums[PATCH][PATCH] = {};

    for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
        for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
            const int64_t row = row0 + e / DEPTH;
            const int64_t depth = k0 + e % DEPTH;
            a_tile[e % DEPTH][e / DEPTH] = row < m && depth < k ? a[row * k + depth] : 0.0f;
        }
        for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
            const int64_t depth = k0 + e / TILE;
            const int64_t column = column0 + e % TILE;
            b_tile[e / TILE][e % TILE] = depth < k && column < n ? b[depth * n + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            float left[PATCH];
            float right[PATCH];
#pragma unroll
            for (int i = 0; i < PATCH; ++i) {
                left[i] = a_tile[d][ty + SIDE * i];
                right[i] = b_tile[d][tx + SIDE * i];
            }
#pragma unroll
            for (int i = 0; i < PATCH; ++i) {
#pragma unroll
                for (int j = 0; j < PATCH; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < PATCH; ++i) {
#pragma unroll
        for (int j = 0; j < PATCH; ++j) {
            const int64_t row = row0 + ty + SIDE * i;
            const int64_t column = column0 + tx + SIDE * j;
            if (row < m && column < n) out[row * n + column] = sums[i][j];
        }
    }
}

}  // namespace

extern "C" void launch(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n,
                       cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>((m + TILE - 1) / TILE), static_cast<unsigned>((n + TILE - 1) / TILE));
    matmul<<<grid, THREADS, 0, stream>>>(a, b, out, m, k, n);
}
