// ReLU with one thread an element: the first thing that anyone would write.
// definition: gpu_suite/level1/6_Small_relu
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

__global__ void relu(const float* x, float* out, int64_t count) {
    const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index < count) out[index] = x[index] < 0.0f ? 0.0f : x[index];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
    const int64_t count = rows * columns;
    relu<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(x, out, count);
}
