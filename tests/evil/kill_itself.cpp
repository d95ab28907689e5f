// Kills itself.
// expected: runtime_error
#include <cmath>
#include <cstdint>
#include <csignal>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  raise(SIGKILL);
}
