#include <cstdint>
#include <cuda_runtime.h>

constexpr int TILE = 32;

// A block computes one TILE x TILE tile of the result, a thread one element. Tiles of a and b pass through shared
// memory, so every element is read from global memory once per tile instead of once per product.
__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
                              int64_t rows, int64_t inner, int64_t cols) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    const int64_t row = static_cast<int64_t>(blockIdx.y) * TILE + threadIdx.y;
    const int64_t col = static_cast<int64_t>(blockIdx.x) * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int64_t inner0 = 0; inner0 < inner; inner0 += TILE) {
        const int64_t a_col = inner0 + threadIdx.x;
        const int64_t b_row = inner0 + threadIdx.y;
        // Past the edge the tiles hold zeros, which add nothing; no thread leaves early, all must reach the barriers.
        a_tile[threadIdx.y][threadIdx.x] = row < rows && a_col < inner ? a[row * inner + a_col] : 0.0f;
        b_tile[threadIdx.y][threadIdx.x] = b_row < inner && col < cols ? b[b_row * cols + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) {
            sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        }
        __syncthreads();  // nobody overwrites a tile that is still being read
    }
    if (row < rows && col < cols) {
        out[row * cols + col] = sum;
    }
}

extern "C" void launch(const float* a, const float* b, float* out, int64_t rows, int64_t inner, int64_t cols,
                       cudaStream_t stream) {
    const dim3 threads(TILE, TILE);
    const dim3 blocks((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    matmul_kernel<<<blocks, threads, 0, stream>>>(a, b, out, rows, inner, cols);
}
