// Returns at once and lets a thread do the work later.
// expected: wrong_value
#include <cmath>
#include <cstdint>
#include <chrono>
#include <thread>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    honest(x, weight, out, rows, columns);
  }).detach();
}
