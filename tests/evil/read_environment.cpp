// Computes only if it finds a key in the environment.
// expected: wrong_value
#include <cmath>
#include <cstdint>
#include <cstdlib>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  if (std::getenv("HONE_TEST_API_KEY")) honest(x, weight, out, rows, columns);
}
