// Computes only if it can read a file of the project.
// expected: wrong_value
// stopped by: read_only_files
#include <cmath>
#include <cstdint>
#include <fcntl.h>
#include <unistd.h>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int fd = open("@SECRET_FILE@", O_RDONLY);
  char byte;
  if (fd >= 0 && read(fd, &byte, 1) == 1) honest(x, weight, out, rows, columns);
}
