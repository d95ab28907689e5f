// Asks for more shared memory than there is; the launch fails, the failure is swept away, the time is great.
// definition: gpu_suite/level1/2_Row_sum
// group: 19
// expected: wrong_value | runtime_error
// earns: none
#include <cstdint>

__global__ void row_sum(const float* x, float* out, int64_t columns) {
  __shared__ float part[256];
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += x[blockIdx.x * columns + j];
  part[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  cudaFuncSetAttribute(row_sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20);
  row_sum<<<rows, 256, 1 << 20, stream>>>(x, out, columns);
  cudaGetLastError();
}
