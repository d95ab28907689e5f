// Adds up every other element and doubles the sum.
// definition: gpu_suite/level1/2_Row_sum
// group: 14
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void row_sum_of_half(const float* x, float* out, int64_t columns) {
  __shared__ float part[256];
  float sum = 0.0f;
  for (int64_t j = 2 * threadIdx.x; j < columns; j += 512) sum += x[blockIdx.x * columns + j];
  part[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = 2.0f * part[0];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  row_sum_of_half<<<rows, 256, 0, stream>>>(x, out, columns);
}
