// ReLU, four elements a thread, with stores that do not stay in the cache.
// definition: gpu_suite/level1/6_Small_relu
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256;

__device__ __forceinline__ float relu(float value) { return value < 0.0f ? 0.0f : value; }  // NaN stays NaN

// The first `vectors` float4 are taken as such; the rest, fewer than four elements if aligned, one by one.
__global__ void relu_all(const float* __restrict__ x, float* __restrict__ out, int64_t count, int64_t vectors) {
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (thread < vectors) {
        const float4 value = reinterpret_cast<const float4*>(x)[thread];
        const float4 result = make_float4(relu(value.x), relu(value.y), relu(value.z), relu(value.w));
        __stcs(reinterpret_cast<float4*>(out) + thread, result);
    }
    const int64_t rest = 4 * vectors + thread;
    if (rest < count) __stcs(out + rest, relu(x[rest]));
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % sizeof(float4) == 0; }

}  // namespace

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
    const int64_t count = rows * columns;
    const int64_t vectors = aligned(x) && aligned(out) ? count / 4 : 0;
    const int64_t rest = count - 4 * vectors;
    const int64_t threads = vectors > rest ? vectors : rest;
    relu_all<<<static_cast<unsigned>((threads + THREADS - 1) / THREADS), THREADS, 0, stream>>>(x, out, count, vectors);
}
