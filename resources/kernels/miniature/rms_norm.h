// A deliberately plain RMS norm: one thread, two passes, a division for every element.
#pragma once

#include "rows.h"

#include <cmath>
#include <cstdint>

namespace miniature {

template <typename T>
T mean_square(const T* row, int64_t length) {
  T sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += row[i] * row[i];
  return sum / static_cast<T>(length);
}

template <typename T>
void rms_norm(const T* input, const T* weight, T* out, int64_t rows, int64_t length, double eps) {
  for (int64_t row = 0; row < rows; ++row) {
    const T* x = row_of(input, row, length);
    T* y = row_of(out, row, length);
    const T root = std::sqrt(mean_square(x, length) + static_cast<T>(eps));
    for (int64_t i = 0; i < length; ++i) y[i] = x[i] / root * weight[i];
  }
}

// Not used by the entry: to show that only what is needed is taken along.
template <typename T>
void layer_norm(const T* input, T* out, int64_t rows, int64_t length);

}  // namespace miniature
