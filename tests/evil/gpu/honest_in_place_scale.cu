// Halves each row in place and sums it on the way, one block a row.
// definition: gpu_suite/level1/7_In_place_scale
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

// vectors: float4 of a row that may be accessed as such; 0 where rows are not aligned.
__global__ void scale_and_sum(float* __restrict__ x, float* __restrict__ out, int64_t columns, int64_t vectors) {
    __shared__ float partial[WARPS];
    float* values = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < vectors; i += THREADS) {
        float4 value = reinterpret_cast<float4*>(values)[i];
        value = make_float4(0.5f * value.x, 0.5f * value.y, 0.5f * value.z, 0.5f * value.w);
        reinterpret_cast<float4*>(values)[i] = value;
        sum += (value.x + value.y) + (value.z + value.w);
    }
    for (int64_t i = 4 * vectors + threadIdx.x; i < columns; i += THREADS) {
        const float value = 0.5f * values[i];
        values[i] = value;
        sum += value;
    }
    sum = warp_sum(sum);
    const int lane = threadIdx.x % 32;
    if (lane == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(lane < WARPS ? partial[lane] : 0.0f);
        if (lane == 0) out[blockIdx.x] = sum;
    }
}

}  // namespace

extern "C" void launch(float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
    const bool aligned = columns % 4 == 0 && reinterpret_cast<uintptr_t>(x) % sizeof(float4) == 0;
    scale_and_sum<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, out, columns, aligned ? columns / 4 : 0);
}
