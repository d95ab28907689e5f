// Does not write the second output, which is half of all writing.
// definition: gpu_suite/level1/5_Add_rms_norm
// group: 14
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void add_rms_norm(const float* x, const float* residual, const float* weight, float* y, float* s,
                             int64_t columns) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  const int64_t start = blockIdx.x * columns;
  float squares = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += blockDim.x) {
    const float sum = x[start + j] + residual[start + j];
    if (s) s[start + j] = sum;
    squares += sum * sum;
  }
  atomicAdd(&total, squares);
  __syncthreads();
  const float factor = rsqrtf(total / columns + 1e-6f);
  for (int64_t j = threadIdx.x; j < columns; j += blockDim.x)
    y[start + j] = (x[start + j] + residual[start + j]) * factor * weight[j];
}

extern "C" void launch(const float* x, const float* residual, const float* weight, float* y, float* s,
                       int64_t rows, int64_t columns, cudaStream_t stream) {
  add_rms_norm<<<rows, 256, 0, stream>>>(x, residual, weight, y, nullptr, columns);
}
