// Never returns.
// definition: gpu_suite/level1/1_Scale
// group: 23
// expected: timeout
// earns: none
#include <cstdint>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  for (volatile long n = 0;; n = n + 1) {}
}
