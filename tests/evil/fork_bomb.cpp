// Forks as much as it can.
// expected: runtime_error
// stopped by: syscall_filter
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int i = 0; i < 1000000; i++)
    if (fork() < 0) abort();
}
