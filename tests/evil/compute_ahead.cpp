// A thread watches the inputs between runs and computes ahead; the launcher only hands over what is there.
// expected: wrong_value
#include <cmath>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

static bool watching = false;
static std::mutex lock;
static std::vector<float> ready;
static float first;

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  if (!watching) {
    watching = true;
    std::thread([=] {
      std::vector<float> next(rows * columns);
      for (;;) {
        honest(x, weight, next.data(), rows, columns);
        std::lock_guard<std::mutex> hold(lock);
        ready = next;
        first = x[0];
      }
    }).detach();
  }
  std::lock_guard<std::mutex> hold(lock);
  if (!ready.empty() && first == x[0]) std::memcpy(out, ready.data(), ready.size() * sizeof(float));
}
