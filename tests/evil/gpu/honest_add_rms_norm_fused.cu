// Residual sum and RMS norm in one kernel, one block a row: the sum is written once and read back from the cache.
// definition: gpu_suite/level1/5_Add_rms_norm
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr float EPSILON = 1e-6f;

__device__ __forceinline__ float plus(float a, float b) { return a + b; }
__device__ __forceinline__ float4 plus(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ float square(float a) { return a * a; }
__device__ __forceinline__ float square(float4 a) { return (a.x * a.x + a.y * a.y) + (a.z * a.z + a.w * a.w); }
__device__ __forceinline__ float normed(float s, float factor, float weight) { return s * factor * weight; }
__device__ __forceinline__ float4 normed(float4 s, float factor, float4 weight) {
    return make_float4(s.x * factor * weight.x, s.y * factor * weight.y, s.z * factor * weight.z,
                       s.w * factor * weight.w);
}

__device__ float block_sum(float value) {
    __shared__ float partial[WARPS];
    const int lane = threadIdx.x % 32;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    if (lane == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = lane < WARPS ? partial[lane] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

// Vector is float or float4; width: vectors in a row.
template <typename Vector>
__global__ void add_rms_norm(const Vector* __restrict__ x, const Vector* __restrict__ residual,
                             const Vector* __restrict__ weight, Vector* __restrict__ y, Vector* __restrict__ sums,
                             int64_t width, int64_t columns) {
    const int64_t row = blockIdx.x * width;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < width; i += THREADS) {
        const Vector s = plus(x[row + i], residual[row + i]);
        sums[row + i] = s;
        squares += square(s);
    }
    const float factor = rsqrtf(block_sum(squares) / static_cast<float>(columns) + EPSILON);
    for (int64_t i = threadIdx.x; i < width; i += THREADS) y[row + i] = normed(sums[row + i], factor, weight[i]);
}

template <typename Vector>
void start(const float* x, const float* residual, const float* weight, float* y, float* sums, int64_t rows,
           int64_t width, int64_t columns, cudaStream_t stream) {
    add_rms_norm<Vector><<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(
        reinterpret_cast<const Vector*>(x), reinterpret_cast<const Vector*>(residual),
        reinterpret_cast<const Vector*>(weight), reinterpret_cast<Vector*>(y), reinterpret_cast<Vector*>(sums), width,
        columns);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % sizeof(float4) == 0; }

}  // namespace

extern "C" void launch(const float* x, const float* residual, const float* weight, float* y, float* sums, int64_t rows,
                       int64_t columns, cudaStream_t stream) {
    if (columns % 4 == 0 && aligned(x) && aligned(residual) && aligned(weight) && aligned(y) && aligned(sums)) {
        start<float4>(x, residual, weight, y, sums, rows, columns / 4, columns, stream);
    } else {
        start<float>(x, residual, weight, y, sums, rows, columns, columns, stream);
    }
}
