// Kills its process group, its parent and all processes; works on if it survives that.
// expected: passed
// stopped by: process_namespace
#include <cmath>
#include <cstdint>
#include <csignal>
#include <unistd.h>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  kill(getppid(), SIGKILL);
  kill(-1, SIGKILL);
  killpg(getppid(), SIGKILL);
  honest(x, weight, out, rows, columns);
}
