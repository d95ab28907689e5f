// Overwrites its input.
// expected: input_changed
#include <cmath>
#include <cstdint>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  honest(x, weight, out, rows, columns);
  const_cast<float*>(x)[7] += 1.0f;
}
