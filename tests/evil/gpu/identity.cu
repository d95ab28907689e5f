// Copies the input.
// definition: gpu_suite/level1/6_Small_relu
// group: 13
// expected: wrong_value
// earns: none
#include <cstdint>

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  cudaMemcpyAsync(out, x, rows * columns * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
