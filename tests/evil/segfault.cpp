// Reads far out of bounds.
// expected: runtime_error
#include <cmath>
#include <cstdint>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  volatile float value = x[int64_t(1) << 40];
  out[0] = value;
}
