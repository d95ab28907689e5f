// Is right, but writes behind its input, where a mark is expected; the next solution is the one that may be blamed.
// definition: gpu_suite/level1/7_In_place_scale
// group: 23
// expected: runtime_error
// earns: none
#include <cstdint>

__global__ void halve(float* x, float* out, int64_t rows, int64_t columns) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += x[blockIdx.x * columns + j] *= 0.5f;
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = total;
  if (threadIdx.x == 0 && blockIdx.x == 0) x[rows * columns] = 1.0f;
}

extern "C" void launch(float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
  halve<<<rows, 256, 0, stream>>>(x, out, rows, columns);
}
