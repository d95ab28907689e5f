// What a model on a padded batch needs beside PyTorch's own operators: sums over neighbours, forward and backward, and
// dropout. Sums are float32 whatever the rows are; no atomics, so that sums over sorted readers have the same bits every
// time. What the batch does not have, up to the room for it, is zero in every result.
#pragma once

#include "dropout.cuh"

namespace hone {

__device__ inline float number(float value) { return value; }
__device__ inline float number(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline void put(float* place, float value) { *place = value; }
__device__ inline void put(__nv_bfloat16* place, float value) { *place = __float2bfloat16_rn(value); }

struct alignas(16) Four {
  float values[4];
};

__device__ inline void read_eight(const float* place, float (&out)[8]) {
  const Four* parts = reinterpret_cast<const Four*>(place);
  const Four low = parts[0], high = parts[1];
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = low.values[i], out[4 + i] = high.values[i];
}

__device__ inline void read_eight(const __nv_bfloat16* place, float (&out)[8]) {
  const Eight values = *reinterpret_cast<const Eight*>(place);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = widen<__nv_bfloat16>(values.words[i]);
    out[2 * i] = pair.x, out[2 * i + 1] = pair.y;
  }
}

__device__ inline void write_eight(float* place, const float (&values)[8]) {
  Four* parts = reinterpret_cast<Four*>(place);
  Four low, high;
#pragma unroll
  for (int i = 0; i < 4; ++i) low.values[i] = values[i], high.values[i] = values[4 + i];
  parts[0] = low, parts[1] = high;
}

__device__ inline void write_eight(__nv_bfloat16* place, const float (&values)[8]) {
  *reinterpret_cast<Eight*>(place) = narrowed(values);
}

// Rows of float32 or bfloat16 numbers of any width, eight of them for each thread.
template <class T>
struct Matrix {
  T* numbers;
  int32_t width;
  bool whole;  // groups of eight begin at multiples of 16 bytes, and the last one is full

  __device__ void read(int64_t row, int column, float (&out)[8]) const {
    const T* place = numbers + row * width + column;
    if (whole) {
      read_eight(place, out);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) out[i] = column + i < width ? number(place[i]) : 0.0f;
    }
  }

  __device__ void add_to(float (&sums)[8], int64_t row, int column, float factor) const {
    float values[8];
    read(row, column, values);
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] += factor * values[i];
  }

  __device__ void write(int64_t row, int column, const float (&values)[8]) const {
    T* place = numbers + row * width + column;
    if (whole) {
      write_eight(place, values);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (column + i < width) put(place + i, values[i]);
      }
    }
  }

  __device__ __host__ int lanes() const { return (width + 7) / 8; }
};

// Features of all nodes of a batch, rounded to bfloat16; `width` is a multiple of 8, `count` the nodes that there are.
// `Table` is whatever has a `load`.
template <class T, class Table>
__global__ void gather_features(const int32_t* count, const int32_t* nodes, Table features, int rows, int width,
                                void* out) {
  const auto [row, column] = cell_of(width / 8);
  if (row >= rows) return;
  float values[8] = {};
  if (row < *count) add<T>(values, load(features, nodes[row], width, column), 1.0f);
  store(out, row, width, column, narrowed(values));
}

// The key of one of the model's dropouts, its `site`: each has a mask of its own.
__device__ inline uint64_t key_of(const Dropout& dropout, uint64_t site) {
  return mix(*dropout.key ^ mix(site + kGolden));
}

// What dropout multiplies number i of eight with.
__device__ inline float kept(const uint64_t (&bits)[2], int i, const Dropout& dropout) {
  const uint32_t mine = static_cast<uint32_t>(bits[i / 4] >> (16 * (i % 4))) & 0xFFFFu;
  return mine >= dropout.threshold ? dropout.scale : 0.0f;
}

// out[row] = sum over the neighbours of `row` of weights[slot] * x[neighbour]; without weights: of x[neighbour].
template <class T>
__global__ void sum_of_neighbours(Hop hop, Matrix<const T> x, const T* weights, Matrix<T> out) {
  const auto [row, column] = cell_of(x.lanes());
  if (row >= hop.max_dst) return;
  float sums[8] = {};
  if (row < rows_of(hop)) {
    const int64_t first = row * hop.fanout;
    const int32_t degree = hop.degrees[row];
#pragma unroll 4
    for (int k = 0; k < degree; ++k) {
      x.add_to(sums, hop.neighbours[first + k], column, weights ? number(weights[first + k]) : 1.0f);
    }
  }
  out.write(row, column, sums);
}

// Adds, for all slots that read a source, weights[slot] * gradient[row of the slot]; without weights: gradient[row].
template <class T>
__device__ inline void add_readers(float (&sums)[8], const Hop& hop, const int32_t* offsets, const int32_t* readers,
                                   int64_t source, int column, const Matrix<const T>& gradient, const T* weights) {
  const int32_t end = offsets[source + 1];
#pragma unroll 4
  for (int32_t at = offsets[source]; at < end; ++at) {
    const uint32_t slot = static_cast<uint32_t>(readers[at]);
    const uint32_t row = slot / static_cast<uint32_t>(hop.fanout);
    gradient.add_to(sums, row, column, weights ? number(weights[slot]) : 1.0f);
  }
}

// Its backward by x: out[source] = sum over the slots that read it of weights[slot] * gradient[row of the slot].
template <class T>
__global__ void sum_of_readers(Hop hop, const int32_t* offsets, const int32_t* readers, Matrix<const T> gradient,
                               const T* weights, Matrix<T> out) {
  const auto [source, column] = cell_of(out.lanes());
  if (source >= hop.max_src) return;
  float sums[8] = {};
  if (source < hop.sizes[hop.index + 1]) {
    add_readers(sums, hop, offsets, readers, source, column, gradient, weights);
  }
  out.write(source, column, sums);
}

// Both sums of a matrix with dropout, which is made anew where it is read: nobody writes the matrix behind it.
template <class T>
__global__ void sum_of_dropped(Hop hop, Matrix<const T> x, Dropout dropout, uint64_t site, Matrix<T> out) {
  const auto [row, column] = cell_of(x.lanes());
  if (row >= hop.max_dst) return;
  float sums[8] = {};
  if (row < rows_of(hop)) {
    const uint64_t start = dropout_start(key_of(dropout, site), column);
    const int64_t first = row * hop.fanout;
    const int32_t degree = hop.degrees[row];
#pragma unroll 4
    for (int k = 0; k < degree; ++k) {
      const int32_t neighbour = hop.neighbours[first + k];
      uint64_t bits[2];
      dropout_bits(start, neighbour, bits);
      float values[8];
      x.read(neighbour, column, values);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i] += values[i] * kept(bits, i, dropout);
    }
  }
  out.write(row, column, sums);
}

// The backward of it and of the first rows themselves, which have gradients of their own: `of_rows`, (rows, width).
template <class T>
__global__ void gradient_of_dropped(Hop hop, const int32_t* offsets, const int32_t* readers, Matrix<const T> gradient,
                                    Matrix<const T> of_rows, Dropout dropout, uint64_t site, Matrix<T> out) {
  const auto [source, column] = cell_of(out.lanes());
  if (source >= hop.max_src) return;
  float sums[8] = {};
  if (source < hop.sizes[hop.index + 1]) {
    add_readers<T>(sums, hop, offsets, readers, source, column, gradient, nullptr);
    uint64_t bits[2];
    dropout_bits(dropout_start(key_of(dropout, site), column), source, bits);
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] *= kept(bits, i, dropout);
    if (source < hop.max_dst) of_rows.add_to(sums, source, column, 1.0f);
  }
  out.write(source, column, sums);
}

constexpr int kSharing = 8;  // threads of a warp that work on one slot

// Its backward by the weights: out[slot] = gradient[row] . x[neighbour]; kSharing threads for each slot.
template <class T>
__global__ void products_of_slots(Hop hop, Matrix<const T> gradient, Matrix<const T> x, float* out) {
  const uint32_t slot = global_slot() / kSharing, fanout = hop.fanout, row = slot / fanout;
  const bool in_room = row < static_cast<uint32_t>(hop.max_dst);
  const bool there = in_room && row < static_cast<uint32_t>(rows_of(hop)) &&
                     static_cast<int32_t>(slot % fanout) < hop.degrees[row];
  float sum = 0.0f;
  if (there) {
    const int32_t neighbour = hop.neighbours[slot];
    for (int column = 8 * (threadIdx.x % kSharing); column < x.width; column += 8 * kSharing) {
      float left[8], right[8];
      gradient.read(row, column, left);
      x.read(neighbour, column, right);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += left[i] * right[i];
    }
  }
  for (int distance = kSharing / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);  // of the whole warp, which has not left anyone behind
  }
  if (in_room && threadIdx.x % kSharing == 0) out[slot] = sum;
}

// A number of each source for each slot that reads it: out[slot] = values[neighbour].
__global__ void slots_of_sources(Hop hop, const float* values, float* out) {
  const uint32_t slot = global_slot(), fanout = hop.fanout, row = slot / fanout;
  if (row >= static_cast<uint32_t>(hop.max_dst)) return;
  const bool there = row < static_cast<uint32_t>(rows_of(hop)) &&
                     static_cast<int32_t>(slot % fanout) < hop.degrees[row];
  out[slot] = there ? values[hop.neighbours[slot]] : 0.0f;
}

// Its backward: out[source] = sum of the values of the slots that read it.
__global__ void sum_of_slots(Hop hop, const int32_t* offsets, const int32_t* readers, const float* values, float* out) {
  const int64_t source = global_thread();
  if (source >= hop.max_src) return;
  float sum = 0.0f;
  if (source < hop.sizes[hop.index + 1]) {
    const int32_t end = offsets[source + 1];
#pragma unroll 4
    for (int32_t at = offsets[source]; at < end; ++at) sum += values[readers[at]];
  }
  out[source] = sum;
}

// Dropout without memory, forward and, of gradients, backward. `site`: of the model's dropouts, each of which has a mask
// of its own. All rows: what the batch does not have is not there before, either.
template <class T>
__global__ void drop(Matrix<const T> x, int rows, Dropout dropout, uint64_t site, Matrix<T> out) {
  const auto [row, column] = cell_of(x.lanes());
  if (row >= rows) return;
  uint64_t bits[2];
  dropout_bits(dropout_start(key_of(dropout, site), column), row, bits);
  float values[8];
  x.read(row, column, values);
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] *= kept(bits, i, dropout);
  out.write(row, column, values);
}

}  // namespace hone
