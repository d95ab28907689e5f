// Exits as if all were well.
// expected: runtime_error
#include <cmath>
#include <cstdint>
#include <unistd.h>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  honest(x, weight, out, rows, columns);
  _exit(0);
}
