// Prints a gigabyte to both streams in its first run.
// expected: passed
#include <cmath>
#include <cstdint>
#include <unistd.h>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  static bool printed = false;
  static char line[1 << 20];
  for (int i = 0; i < 1024 && !printed; i++) {
    ssize_t ignored = write(1, line, sizeof(line));
    ignored = write(2, line, sizeof(line));
    (void)ignored;
  }
  printed = true;
  honest(x, weight, out, rows, columns);
}
