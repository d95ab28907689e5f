// Gives the first answer again whenever it gets the same addresses.
// expected: wrong_value
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  static std::vector<float> answer;
  if (answer.empty()) {
    honest(x, weight, out, rows, columns);
    answer.assign(out, out + rows * columns);
  } else {
    std::memcpy(out, answer.data(), answer.size() * sizeof(float));
  }
}
