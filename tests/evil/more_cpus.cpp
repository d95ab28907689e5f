// Computes only if it may use CPUs that the baseline does not get.
// expected: wrong_value
// stopped by: syscall_filter
#include <cmath>
#include <cstdint>
#include <cstring>
#include <sched.h>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  cpu_set_t all;
  std::memset(&all, 0xFF, sizeof(all));
  if (sched_setaffinity(0, sizeof(all), &all) == 0) honest(x, weight, out, rows, columns);
}
