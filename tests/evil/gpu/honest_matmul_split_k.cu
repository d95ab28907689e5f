// Matrix product whose k axis is shared by four blocks, which add their parts to the zeroed result atomically.
// definition: gpu_suite/level1/4_Matmul
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int TILE = 64;
constexpr int DEPTH = 16;
constexpr int SIDE = 16;
constexpr int PATCH = TILE / SIDE;
constexpr int THREADS = SIDE * SIDE;
constexpr int SPLITS = 4;

// share: length of k that one block takes, a multiple of DEPTH.
__global__ void __launch_bounds__(THREADS) add_products(const float* __restrict__ a, const float* __restrict__ b,
                                                        float* __restrict__ out, int64_t m, int64_t k, int64_t n,
                                                        int64_t share) {
    __shared__ float a_tile[DEPTH][TILE + 1];
    __shared__ float b_tile[DEPTH][TILE];
    const int64_t row0 = static_cast<int64_t>(blockIdx.x) * TILE;
    const int64_t column0 = static_cast<int64_t>(blockIdx.y) * TILE;
    const int64_t begin = static_cast<int64_t>(blockIdx.z) * share;
    const int64_t end = begin + share < k ? begin + share : k;
    if (begin >= end) return;  // the whole block: nothing is left for it
    const int tx = threadIdx.x % SIDE;
    const int ty = threadIdx.x / SIDE;
    float sums[PATCH][PATCH] = {};

    for (int64_t k0 = begin; k0 < end; k0 += DEPTH) {
        for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
            const int64_t row = row0 + e / DEPTH;
            const int64_t depth = k0 + e % DEPTH;
            a_tile[e % DEPTH][e / DEPTH] = row < m && depth < end ? a[row * k + depth] : 0.0f;
        }
        for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
            const int64_t depth = k0 + e / TILE;
            const int64_t column = column0 + e % TILE;
            b_tile[e / TILE][e % TILE] = depth < end && column < n ? b[depth * n + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
#pragma unroll
            for (int i = 0; i < PATCH; ++i) {
                const float left = a_tile[d][ty + SIDE * i];
#pragma unroll
                for (int j = 0; j < PATCH; ++j) sums[i][j] = fmaf(left, b_tile[d][tx + SIDE * j], sums[i][j]);
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < PATCH; ++i) {
        for (int j = 0; j < PATCH; ++j) {
            const int64_t row = row0 + ty + SIDE * i;
            const int64_t column = column0 + tx + SIDE * j;
            if (row < m && column < n) atomicAdd(out + row * n + column, sums[i][j]);
        }
    }
}

}  // namespace

extern "C" void launch(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n,
                       cudaStream_t stream) {
    const int64_t steps = (k + DEPTH - 1) / DEPTH;
    const int64_t share = (steps + SPLITS - 1) / SPLITS * DEPTH;
    const dim3 grid(static_cast<unsigned>((m + TILE - 1) / TILE), static_cast<unsigned>((n + TILE - 1) / TILE), SPLITS);
    cudaMemsetAsync(out, 0, static_cast<size_t>(m * n) * sizeof(float), stream);
    add_products<<<grid, THREADS, 0, stream>>>(a, b, out, m, k, n, share);
}
