// Sigmoid times weight in a grid-stride loop over all elements.
// definition: gpu_suite/level1/1_Scale
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256;
constexpr int MOST_BLOCKS = 132 * 16;

// The column goes along with the index, so that no division is needed in the loop.
__global__ void scale(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ out,
                      int64_t count, int64_t columns) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const int64_t column_step = step % columns;
    int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    int64_t column = index % columns;
    for (; index < count; index += step) {
        out[index] = weight[column] / (1.0f + expf(-x[index]));
        column += column_step;
        if (column >= columns) column -= columns;
    }
}

}  // namespace

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
    const int64_t count = rows * columns;
    const int64_t wanted = (count + THREADS - 1) / THREADS;
    const int blocks = static_cast<int>(wanted < MOST_BLOCKS ? wanted : MOST_BLOCKS);
    scale<<<blocks, THREADS, 0, stream>>>(x, weight, out, count, columns);
}
