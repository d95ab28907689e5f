// Copies what lies behind its output, in the hope that it is the expected one.
// definition: gpu_suite/level1/2_Row_sum
// group: 11
// expected: wrong_value | runtime_error
// earns: none
#include <cstdint>

__global__ void copy(float* out, int64_t rows) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  const int64_t behind = (rows + 127) / 128 * 128;
  if (i < rows) out[i] = out[behind + i];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  copy<<<(rows + 255) / 256, 256, 0, stream>>>(out, rows);
}
