// Keeps the CPU busy while the baseline runs, and itself does its work thirty times.
// expected: passed
// not faster than the baseline
#include <cmath>
#include <cstdint>
#include <thread>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  static bool busy = false;
  if (!busy) {
    busy = true;
    for (int i = 0; i < 4; i++)
      std::thread([] {
        for (volatile long n = 0;; n = n + 1) {}
      }).detach();
  }
  for (volatile int i = 0; i < 30; i = i + 1) honest(x, weight, out, rows, columns);
}
