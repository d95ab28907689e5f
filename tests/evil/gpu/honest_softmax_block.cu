// Softmax with one block a row in three passes: largest value, sum of exponentials, quotient.
// definition: gpu_suite/level1/3_Softmax
// group: honest
// expected: passed
// earns: fast
#include <cmath>
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

struct Largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// The result, in every thread, over the values of all threads of the block.
template <typename Combine>
__device__ float block_reduce(float value, float neutral, Combine combine) {
    __shared__ float partial[WARPS];
    const int lane = threadIdx.x % 32;
    for (int distance = 16; distance > 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    if (lane == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = lane < WARPS ? partial[lane] : neutral;
    for (int distance = 16; distance > 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    __syncthreads();  // before `partial` is used again
    return value;
}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ out, int64_t columns) {
    const float* values = x + blockIdx.x * columns;
    float* results = out + blockIdx.x * columns;

    float largest = -INFINITY;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) largest = fmaxf(largest, values[i]);
    largest = block_reduce(largest, -INFINITY, Largest());

    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) sum += expf(values[i] - largest);
    sum = block_reduce(sum, 0.0f, Sum());

    const float factor = 1.0f / sum;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) results[i] = expf(values[i] - largest) * factor;
}

}  // namespace

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
    softmax<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, out, columns);
}
