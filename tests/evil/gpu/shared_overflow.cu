// Writes 64 KiB into shared memory of 1 KiB.
// definition: gpu_suite/level1/2_Row_sum
// group: 19
// expected: runtime_error | wrong_value
// earns: none
#include <cstdint>

__global__ void row_sum_beyond(const float* x, float* out, int64_t columns) {
  extern __shared__ float part[];
  for (int n = 0; n < 64; n++) part[n * 256 + threadIdx.x] = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) part[j % 16384] += x[blockIdx.x * columns + j];
  __syncthreads();
  if (threadIdx.x == 0)
    for (int n = 1; n < 16384; n++) part[0] += part[n];
  out[blockIdx.x] = part[0];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  row_sum_beyond<<<rows, 256, 1024, stream>>>(x, out, columns);
}
