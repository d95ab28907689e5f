// Softmax with one block a row that finds largest value and sum in one pass, the online way, and reads twice in all.
// definition: gpu_suite/level1/3_Softmax
// group: honest
// expected: passed
// earns: fast
#include <cmath>
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

// Sum of exp(value - largest) over some values; none yet: largest is minus infinity and sum 0.
struct State {
    float largest;
    float sum;
};

__device__ __forceinline__ State merge(State a, State b) {
    const float largest = fmaxf(a.largest, b.largest);
    if (largest == -INFINITY) return {largest, 0.0f};  // both empty: the differences below would be NaN
    return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__device__ __forceinline__ State warp_merge(State state) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        State other;
        other.largest = __shfl_xor_sync(0xffffffffu, state.largest, distance);
        other.sum = __shfl_xor_sync(0xffffffffu, state.sum, distance);
        state = merge(state, other);
    }
    return state;
}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ out, int64_t columns) {
    __shared__ State partial[WARPS];
    const float* values = x + blockIdx.x * columns;
    float* results = out + blockIdx.x * columns;
    const int lane = threadIdx.x % 32;

    State state = {-INFINITY, 0.0f};
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) {
        const float value = values[i];
        if (value > state.largest) {
            state.sum = state.sum * expf(state.largest - value) + 1.0f;
            state.largest = value;
        } else {
            state.sum += expf(value - state.largest);
        }
    }
    state = warp_merge(state);
    if (lane == 0) partial[threadIdx.x / 32] = state;
    __syncthreads();
    state = lane < WARPS ? partial[lane] : State{-INFINITY, 0.0f};
    state = warp_merge(state);

    const float factor = 1.0f / state.sum;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS) results[i] = expf(values[i] - state.largest) * factor;
}

}  // namespace

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
    softmax<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, out, columns);
}
