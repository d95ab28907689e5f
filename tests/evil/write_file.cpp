// Computes only if it can write a file somewhere.
// expected: wrong_value
// stopped by: read_only_files
#include <cmath>
#include <cstdint>
#include <fcntl.h>
#include <initializer_list>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (const char* path : {"left_behind", "/tmp/left_behind", "/dev/shm/left_behind"})
    if (open(path, O_CREAT | O_WRONLY, 0600) >= 0) honest(x, weight, out, rows, columns);
}
