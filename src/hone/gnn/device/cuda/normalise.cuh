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

// Statistics over batches, as PyTorch keeps them: (width) float32 each, and how many batches there were.
struct Running {
  float* mean;
  float* variance;
  int64_t* batches;
  float momentum;
};

constexpr int kColumns = 32, kLanes = 32;  // of a block of `join_moments`: each column's parts are shared by 32 threads

// The sum of a column's threads, for each of them; always in the same order.
__device__ inline float of_lanes(float (&shared)[kLanes][kColumns + 1], float value) {
  const int column = threadIdx.x % kColumns;
  shared[threadIdx.x / kColumns][column] = value;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) sum += shared[lane][column];
  __syncthreads();
  return sum;
}

// What to normalise with, by the moments of all parts: `mean` and `scale` (width), 1 / sqrt(variance + epsilon), and
// `several`, 1 or 0: whether they are the rows' own, which are then taken into the running statistics. One row or none
// has none of its own.
__global__ void __launch_bounds__(kColumns* kLanes)
    join_moments(const int32_t* count, const float* means, const float* squares, int parts, int width, float epsilon,
                 Running running, float* mean, float* scale, float* several) {
  __shared__ float shared[kLanes][kColumns + 1];
  const int column = blockIdx.x * kColumns + threadIdx.x % kColumns, first = threadIdx.x / kColumns;
  const int32_t rows = *count;
  const bool inside = column < width, own = rows > 1;
  const float share = 1.0f / static_cast<float>(rows > 1 ? rows : 1);
  const int stop = inside ? parts : 0;
  const auto rows_of_part = [&](int part) {  // it has the rows part, part + parts, and so on
    return part < rows ? static_cast<float>((rows - part + parts - 1) / parts) : 0.0f;
  };
  float sum = 0.0f;
#pragma unroll 4
  for (int part = first; part < stop; part += kLanes) sum += rows_of_part(part) * means[part * width + column];
  const float average = of_lanes(shared, sum) * share;
  float apart = 0.0f;
#pragma unroll 4
  for (int part = first; part < stop; part += kLanes) {
    const float distance = means[part * width + column] - average;
    apart += squares[part * width + column] + rows_of_part(part) * distance * distance;
  }
  apart = of_lanes(shared, apart);
  if (first == 0 && inside) {
    const float last_mean = running.mean[column], last_variance = running.variance[column];
    mean[column] = own ? average : last_mean;
    scale[column] = 1.0f / sqrtf((own ? apart * share : last_variance) + epsilon);
    if (own) {
      const float unbiased = apart / static_cast<float>(rows - 1);
      running.mean[column] = last_mean + running.momentum * (average - last_mean);
      running.variance[column] = last_variance + running.momentum * (unbiased - last_variance);
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *several = own ? 1.0f : 0.0f;
    if (own) ++*running.batches;
  }
}

// What normalising takes of each column, (width) float32.
struct Columns {
  const float* mean;
  const float* scale;  // 1 / sqrt(variance + epsilon)
  const float* weight;
  const float* bias;
};

// What may come behind it: leaky ReLU, and dropout with the mask of one of the model's sites. A scale of dropout of 0:
// neither of them.
struct Activation {
  Dropout dropout;
  uint64_t site;
  float slope;  // of leaky ReLU below zero
};

// Of eight columns. A thread has them in registers for all its rows: they are more bytes than the numbers of a row.
struct EightColumns {
  float mean[8], scale[8], weight[8], bias[8];

  __device__ EightColumns(const Columns& columns, int column, int width) {
    of_eight(columns.mean, column, width, mean);
    of_eight(columns.scale, column, width, scale);
    of_eight(columns.weight, column, width, weight);
    of_eight(columns.bias, column, width, bias);
  }

  __device__ static void of_eight(const float* all, int column, int width, float (&out)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) out[i] = column + i < width ? all[column + i] : 0.0f;
  }

  __device__ void normalise(float (&values)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = (values[i] - mean[i]) * scale[i];
  }
};

// What eight numbers of a row are multiplied with behind normalising, on the way forward as on the way back.
template <bool kActive>
struct Factors {
  uint64_t start;
  Dropout dropout;
  float slope;

  __device__ Factors(const Activation& activation, int column) : dropout(activation.dropout), slope(activation.slope) {
    start = kActive ? dropout_start(key_of(dropout, activation.site), column) : 0;
  }

  __device__ void apply(int64_t row, const EightColumns& columns, const float (&normal)[8], float (&values)[8]) const {
    if (!kActive) return;
    uint64_t bits[2];
    dropout_bits(start, row, bits);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float below = normal[i] * columns.weight[i] + columns.bias[i] > 0.0f ? 1.0f : slope;
      values[i] *= kept(bits, i, dropout) * below;
    }
  }
};

// out = the activation of normalised x * weight + bias, plus `skip` unless its numbers are null; all rows.
template <class T, bool kActive>
__global__ void normalise(Matrix<const T> x, Matrix<const T> skip, int rows, int parts, Columns columns,
                          Activation activation, Matrix<T> out) {
  const auto [part, column] = cell_of(x.lanes());
  if (part >= parts) return;
  const EightColumns of(columns, column, x.width);
  const Factors<kActive> factors(activation, column);
#pragma unroll 2
  for (int64_t row = part; row < rows; row += parts) {
    float normal[8], values[8], added[8] = {};
    x.read(row, column, normal);
    if (skip.numbers) skip.read(row, column, added);
    of.normalise(normal);
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = normal[i] * of.weight[i] + of.bias[i];
    factors.apply(row, of, normal, values);
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] += added[i];
    out.write(row, column, values);
  }
}

// Of each part's rows, each (parts, width) float32: the sum of the gradient behind normalising, and of that times
// normalised x. `gradient` is by the activation's result.
template <class T, bool kActive>
__global__ void gradient_moments(const int32_t* count, Matrix<const T> gradient, Matrix<const T> x, Columns columns,
                                 Activation activation, int parts, Matrix<float> sums, Matrix<float> products) {
  const auto [part, column] = cell_of(x.lanes());
  if (part >= parts) return;
  const EightColumns of(columns, column, x.width);
  const Factors<kActive> factors(activation, column);
  float sum[8] = {}, product[8] = {};
#pragma unroll 2
  for (int64_t row = part; row < *count; row += parts) {
    float normal[8], of_gradient[8];
    x.read(row, column, normal);
    gradient.read(row, column, of_gradient);
    of.normalise(normal);
    factors.apply(row, of, normal, of_gradient);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sum[i] += of_gradient[i];
      product[i] += of_gradient[i] * normal[i];
    }
  }
  sums.write(part, column, sum);
  products.write(part, column, product);
}

// The gradient by x: weight * scale * (gradient - sums - normalised x * products), where `sums` and `products` (width)
// are means over the rows, or zeros where mean and scale were not made of these rows. Zero beyond them.
template <class T, bool kActive>
__global__ void gradient_of_normalised(const int32_t* count, Matrix<const T> gradient, Matrix<const T> x, int rows,
                                       int parts, Columns columns, Activation activation, const float* sums,
                                       const float* products, Matrix<T> out) {
  const auto [part, column] = cell_of(x.lanes());
  if (part >= parts) return;
  const EightColumns of(columns, column, x.width);
  const Factors<kActive> factors(activation, column);
  float sum[8], product[8];
  EightColumns::of_eight(sums, column, x.width, sum);
  EightColumns::of_eight(products, column, x.width, product);
#pragma unroll 2
  for (int64_t row = part; row < rows; row += parts) {
    float result[8] = {};
    if (row < *count) {
      float normal[8];
      x.read(row, column, normal);
      gradient.read(row, column, result);
      of.normalise(normal);
      factors.apply(row, of, normal, result);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        result[i] = of.weight[i] * of.scale[i] * (result[i] - sum[i] - normal[i] * product[i]);
      }
    }
    out.write(row, column, result);
  }
}

}  // namespace hone
