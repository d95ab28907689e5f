// Counts its runs on the device, which graph replays do not escape, and is idle after the first 30.
// definition: gpu_suite/level1/2_Row_sum
// group: 9
// expected: wrong_value | passed
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__device__ int runs;

__global__ void count() { runs++; }

__global__ void row_sum_at_first(const float* x, float* out, int64_t columns) {
  if (runs > 30) return;
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += x[blockIdx.x * columns + j];
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  for (int n = 0; n < 8; n++) row_sum_at_first<<<rows, 256, 0, stream>>>(x, out, columns);
  count<<<1, 1, 0, stream>>>();
}
