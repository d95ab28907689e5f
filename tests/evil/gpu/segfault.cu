// Writes to address nought on the host.
// definition: gpu_suite/level1/1_Scale
// group: 19
// expected: runtime_error
// earns: none
#include <cstdint>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  *(volatile int*)nullptr = 1;
}
