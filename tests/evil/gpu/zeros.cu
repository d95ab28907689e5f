// Sets the output to nought, which the sums of random numbers are on average.
// definition: gpu_suite/level1/2_Row_sum
// group: 13
// expected: wrong_value
// earns: none
#include <cstdint>

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  cudaMemsetAsync(out, 0, rows * sizeof(float), stream);
}
