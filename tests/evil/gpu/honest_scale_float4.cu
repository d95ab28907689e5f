// Sigmoid times weight, four columns a thread and four rows a block, so that each weight is loaded once per four rows.
// definition: gpu_suite/level1/1_Scale
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256;
constexpr int ROWS_PER_BLOCK = 4;

__device__ __forceinline__ float scaled(float x, float weight) { return weight / (1.0f + expf(-x)); }

__device__ __forceinline__ float4 scaled(float4 x, float4 weight) {
    return make_float4(scaled(x.x, weight.x), scaled(x.y, weight.y), scaled(x.z, weight.z), scaled(x.w, weight.w));
}

// Vector is float or float4; width: vectors in a row.
template <typename Vector>
__global__ void scale(const Vector* __restrict__ x, const Vector* __restrict__ weight, Vector* __restrict__ out,
                      int64_t rows, int64_t width) {
    const int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS_PER_BLOCK;
    const int64_t step = static_cast<int64_t>(gridDim.y) * THREADS;
    for (int64_t column = static_cast<int64_t>(blockIdx.y) * THREADS + threadIdx.x; column < width; column += step) {
        const Vector w = weight[column];
#pragma unroll
        for (int r = 0; r < ROWS_PER_BLOCK; ++r) {
            const int64_t row = first + r;
            if (row < rows) out[row * width + column] = scaled(x[row * width + column], w);
        }
    }
}

template <typename Vector>
void start(const float* x, const float* weight, float* out, int64_t rows, int64_t width, cudaStream_t stream) {
    const int64_t row_blocks = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    const int64_t column_blocks = (width + THREADS - 1) / THREADS;
    const dim3 grid(static_cast<unsigned>(row_blocks), static_cast<unsigned>(column_blocks < 65535 ? column_blocks : 65535));
    scale<Vector><<<grid, THREADS, 0, stream>>>(reinterpret_cast<const Vector*>(x),
                                                reinterpret_cast<const Vector*>(weight),
                                                reinterpret_cast<Vector*>(out), rows, width);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % sizeof(float4) == 0; }

}  // namespace

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
    if (columns % 4 == 0 && aligned(x) && aligned(weight) && aligned(out)) {
        start<float4>(x, weight, out, rows, columns / 4, stream);
    } else {
        start<float>(x, weight, out, rows, columns, stream);
    }
}
