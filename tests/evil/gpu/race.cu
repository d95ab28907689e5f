// Adds up partial sums without waiting for the threads that compute them.
// definition: gpu_suite/level1/2_Row_sum
// group: 20
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void row_sum_unsynchronised(const float* x, float* out, int64_t columns) {
  volatile __shared__ float part[1024];
  float sum = 0.0f;
  for (int64_t j = 1023 - threadIdx.x; j < columns; j += 1024) sum += x[blockIdx.x * columns + j];
  part[threadIdx.x] = sum;
  for (int half = 512; half > 0; half /= 2)
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  row_sum_unsynchronised<<<rows, 1024, 0, stream>>>(x, out, columns);
}
