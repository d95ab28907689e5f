// Forks as much as it can.
// definition: gpu_suite/level1/1_Scale
// group: 2
// expected: runtime_error | wrong_value
// earns: none
#include <cstdint>
#include <cstdlib>
#include <unistd.h>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  for (int i = 0; i < 3000; i++) {
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
      sleep(5);
      _exit(0);
    }
  }
}
