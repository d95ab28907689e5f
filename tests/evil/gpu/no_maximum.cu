// Softmax without the maximum: saves a pass, right for values of a normal distribution, not for large ones.
// definition: gpu_suite/level1/3_Softmax
// group: 15
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void softmax(const float* x, float* out, int64_t columns) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  const int64_t start = blockIdx.x * columns;
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += expf(x[start + j]);
  atomicAdd(&total, sum);
  __syncthreads();
  for (int64_t j = threadIdx.x; j < columns; j += 256) out[start + j] = expf(x[start + j]) / total;
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  softmax<<<rows, 256, 0, stream>>>(x, out, columns);
}
