// Sets input and output to nought, so that the reference agrees if it comes second.
// definition: gpu_suite/level1/2_Row_sum
// group: 12
// expected: runtime_error | input_changed | wrong_value
// earns: none
#include <cstdint>

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  cudaMemsetAsync((void*)x, 0, rows * columns * sizeof(float), stream);
  cudaMemsetAsync(out, 0, rows * sizeof(float), stream);
}
