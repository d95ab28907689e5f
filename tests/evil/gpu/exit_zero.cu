// Ends the process with success before anything is compared.
// definition: gpu_suite/level1/1_Scale
// group: 27
// expected: runtime_error
// earns: none
#include <cstdint>
#include <unistd.h>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  _exit(0);
}
