// An honest kernel with OpenMP.
// expected: passed
#include <cmath>
#include <cstdint>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}
