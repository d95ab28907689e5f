// Adds to its output, which happens to be nought in fresh memory.
// definition: gpu_suite/level1/2_Row_sum
// group: 20
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void add(const float* x, float* out, int64_t columns) {
  float sum = 0.0f;
  for (int64_t j = blockIdx.y * 256 + threadIdx.x; j < columns; j += 1024) sum += x[blockIdx.x * columns + j];
  atomicAdd(&out[blockIdx.x], sum);
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  add<<<dim3(rows, 4), 256, 0, stream>>>(x, out, columns);
}
