// Gives the right sums but does not scale x in place, which saves half of the traffic.
// definition: gpu_suite/level1/7_In_place_scale
// group: 14
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void half_sum(const float* x, float* out, int64_t columns) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += 0.5f * x[blockIdx.x * columns + j];
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

extern "C" void launch(float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  half_sum<<<rows, 256, 0, stream>>>(x, out, columns);
}
