// Batch normalisation over those rows of a padded matrix that a batch has; how many they are lies in device memory.
//
// Sums over rows have two steps: `parts` threads for each eight columns, every one of which takes each parts-th row, and
// then a sum over parts, which PyTorch does. Both are in the same order every time.
#pragma once

#include "padded.cuh"

namespace hone {

// means and squares, each (parts, width) float32: of the rows of each part their mean, and the sum of squared distances
// from it. Distances are taken from a part's first row: sums of the squares themselves would lose what is small beside
// a large mean.
template <class T>
__global__ void moments(const int32_t* count, Matrix<const T> x, int parts, Matrix<float> means,
                        Matrix<float> squares) {
  const auto [part, column] = cell_of(x.lanes());
  if (part >= parts) return;
  float first[8] = {}, sums[8] = {}, of_squares[8] = {};
  const int32_t rows = *count;
  if (part < rows) x.read(part, column, first);
  int32_t found = 0;
#pragma unroll 2
  for (int64_t row = part; row < rows; row += parts, ++found) {
    float values[8];
    x.read(row, column, values);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float apart = values[i] - first[i];
      sums[i] += apart;
      of_squares[i] += apart * apart;
    }
  }
  const float share = 1.0f / static_cast<float>(found > 1 ? found : 1);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    of_squares[i] = fmaxf(of_squares[i] - sums[i] * sums[i] * share, 0.0f);
    first[i] += sums[i] * share;
  }
  means.write(part, column, first);
  squares.write(part, column, of_squares);
}

// What normalising takes of each column, (width) float32.
struct Columns {
  const float* mean;
  const float* scale;  // 1 / sqrt(variance + epsilon)
  const float* weight;
  const float* bias;
};

__device__ inline float normal(const Columns& columns, int column, float value) {
  return (value - columns.mean[column]) * columns.scale[column];
}

// out = normalised x * weight + bias, all rows.
template <class T>
__global__ void normalise(Matrix<const T> x, int rows, Columns columns, Matrix<T> out) {
  const auto [row, column] = cell_of(x.lanes());
  if (row >= rows) return;
  float values[8];
  x.read(row, column, values);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int c = column + i;
    if (c < x.width) values[i] = normal(columns, c, values[i]) * columns.weight[c] + columns.bias[c];
  }
  out.write(row, column, values);
}

// Of each part's rows, each (parts, width) float32: the sum of the gradient, and of the gradient times normalised x.
template <class T>
__global__ void gradient_moments(const int32_t* count, Matrix<const T> gradient, Matrix<const T> x, Columns columns,
                                 int parts, Matrix<float> sums, Matrix<float> products) {
  const auto [part, column] = cell_of(x.lanes());
  if (part >= parts) return;
  float sum[8] = {}, product[8] = {};
#pragma unroll 2
  for (int64_t row = part; row < *count; row += parts) {
    float values[8], of_gradient[8];
    x.read(row, column, values);
    gradient.read(row, column, of_gradient);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float value = column + i < x.width ? normal(columns, column + i, values[i]) : 0.0f;
      sum[i] += of_gradient[i];
      product[i] += of_gradient[i] * value;
    }
  }
  sums.write(part, column, sum);
  products.write(part, column, product);
}

// The gradient by x: weight * scale * (gradient - sums - normalised x * products), where `sums` and `products` (width)
// are means over the rows, or zeros where mean and scale were not made of these rows. Zero beyond them.
template <class T>
__global__ void gradient_of_normalised(const int32_t* count, Matrix<const T> gradient, Matrix<const T> x, int rows,
                                       Columns columns, const float* sums, const float* products, Matrix<T> out) {
  const auto [row, column] = cell_of(x.lanes());
  if (row >= rows) return;
  float result[8] = {};
  if (row < *count) {
    float values[8], of_gradient[8];
    x.read(row, column, values);
    gradient.read(row, column, of_gradient);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int c = column + i;
      if (c >= x.width) continue;
      const float rest = of_gradient[i] - sums[c] - normal(columns, c, values[i]) * products[c];
      result[i] = columns.weight[c] * columns.scale[c] * rest;
    }
  }
  out.write(row, column, result);
}

}  // namespace hone
