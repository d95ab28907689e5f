// Means over neighbours, forward and backward. All sums are float32; rows are of 16-bit numbers.
#pragma once

#include "common.cuh"
#include "sample.cuh"

namespace hone {

// Dropout without memory: whether an element is kept is a hash of (key, row, column), the same forward and backward.
struct Dropout {
  const uint64_t* key;  // of the batch and the layer; in device memory, because it changes from batch to batch
  float scale;          // 1 / (1 - p); 0: the state goes through as it is, without ReLU either
  uint32_t threshold;   // p * 65536: 16 bits below it are dropped
};

// 16 bits for each of eight neighbouring elements, the first in the lowest of the first word. `column` is a multiple of 8.
__device__ inline void dropout_bits(uint64_t key, int64_t row, int column, uint64_t (&bits)[2]) {
  const uint64_t place = static_cast<uint64_t>(row) << 16 | static_cast<uint32_t>(column);
  const uint64_t first = key + kGolden * (2 * place);
  bits[0] = mix(first);
  bits[1] = mix(first + kGolden);
}

// Factors of eight neighbouring elements of a state: ReLU's derivative where `values` are what ReLU gets, times
// dropout's. `column` is a multiple of 8.
__device__ inline void factors(const Dropout& dropout, const Eight& values, int64_t row, int column, float (&out)[8]) {
  if (dropout.scale == 0.0f) {
    for (int i = 0; i < 8; ++i) out[i] = 1.0f;
    return;
  }
  uint64_t bits[2];
  dropout_bits(*dropout.key, row, column, bits);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = widen<__nv_bfloat16>(values.words[i]);
    const uint32_t both = static_cast<uint32_t>(bits[i / 2] >> (32 * (i % 2)));
    out[2 * i] = pair.x > 0.0f && (both & 0xFFFFu) >= dropout.threshold ? dropout.scale : 0.0f;
    out[2 * i + 1] = pair.y > 0.0f && both >> 16 >= dropout.threshold ? dropout.scale : 0.0f;
  }
}

// What a thread works on where `lanes` threads share a row: 32 bits, because dividing 64 takes longer than all that a
// thread does with its eight columns.
struct Cell {
  int64_t row;
  int column;  // a multiple of 8
};

__device__ inline Cell cell_of(int lanes) {
  const uint32_t thread = static_cast<uint32_t>(global_thread()), each = static_cast<uint32_t>(lanes);
  return {thread / each, static_cast<int>(thread % each) * 8};
}

__device__ inline Eight load(const void* rows, int64_t row, int width, int column) {
  return *reinterpret_cast<const Eight*>(static_cast<const uint16_t*>(rows) + row * width + column);
}

__device__ inline void store(void* rows, int64_t row, int64_t width, int64_t column, const Eight& values) {
  *reinterpret_cast<Eight*>(static_cast<uint16_t*>(rows) + row * width + column) = values;
}

// The first layer's input: [mean of the neighbours' features | own features] in bfloat16, zeros for rows up to
// `max_dst` that the batch does not have. Neighbours are global ids: no node of the last hop needs a local one, and no
// matrix of features is made. `width` is a multiple of 8; `width / 8` threads for each row. `Table` is whatever has a
// `load`: one matrix, or several (spread.cuh).
template <class T, class Table = const void*>
__global__ void mean_of_features(Hop hop, const int32_t* nodes, Table features, int width, void* out) {
  const auto [row, column] = cell_of(width / 8);
  if (row >= hop.max_dst) return;
  float mean[8] = {}, own[8] = {};
  if (row < rows_of(hop)) {
    const int32_t degree = hop.degrees[row];
    const int32_t* list = hop.neighbours + row * hop.fanout;
    const float factor = 1.0f / static_cast<float>(degree > 1 ? degree : 1);
    const Eight mine = load(features, nodes[row], width, column);
    int k = 0;
    for (; k + 5 <= degree; k += 5) {  // five loads under way at a time
      Eight values[5];
#pragma unroll
      for (int i = 0; i < 5; ++i) values[i] = load(features, list[k + i], width, column);
#pragma unroll
      for (int i = 0; i < 5; ++i) add<T>(mean, values[i], factor);
    }
    for (; k < degree; ++k) add<T>(mean, load(features, list[k], width, column), factor);
    add<T>(own, mine, 1.0f);
  }
  store(out, row, 2 * width, column, narrowed(mean));
  store(out, row, 2 * width, width + column, narrowed(own));
}

// Adds a state as its readers see it, behind ReLU and dropout, times `share`, to sums.
__device__ inline void add_state(
    float (&sums)[8], const Dropout& dropout, const Eight& values, int64_t row, int column, float share
) {
  float factor[8];
  factors(dropout, values, row, column, factor);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = widen<__nv_bfloat16>(values.words[i]);
    sums[2 * i] += pair.x * factor[2 * i] * share;
    sums[2 * i + 1] += pair.y * factor[2 * i + 1] * share;
  }
}

// A later layer's input: the same of the state before it, which goes through ReLU and dropout on the way.
__global__ void mean_of_states(Hop hop, const void* states, int width, Dropout dropout, void* out) {
  const auto [row, column] = cell_of(width / 8);
  if (row >= hop.max_dst) return;
  float mean[8] = {}, own[8] = {};
  if (row < rows_of(hop)) {
    const int32_t degree = hop.degrees[row];
    const int32_t* list = hop.neighbours + row * hop.fanout;
    const float share = 1.0f / static_cast<float>(degree > 1 ? degree : 1);
    const Eight mine = load(states, row, width, column);
    int k = 0;
    for (; k + 5 <= degree; k += 5) {  // five loads under way at a time
      int32_t sources[5];
      Eight values[5];
#pragma unroll
      for (int i = 0; i < 5; ++i) sources[i] = list[k + i];
#pragma unroll
      for (int i = 0; i < 5; ++i) values[i] = load(states, sources[i], width, column);
#pragma unroll
      for (int i = 0; i < 5; ++i) add_state(mean, dropout, values[i], sources[i], column, share);
    }
    for (; k < degree; ++k) add_state(mean, dropout, load(states, list[k], width, column), list[k], column, share);
    add_state(own, dropout, mine, row, column, 1.0f);
  }
  store(out, row, 2 * width, column, narrowed(mean));
  store(out, row, 2 * width, width + column, narrowed(own));
}

// Backward of `mean_of_states`: the gradient of what was stored in `states`, from that of `out`, as a gather over the
// slots that read each source. Zeros for rows up to `max_src` that the batch does not have. `gradient` may be `states`.
// A thread has kGroups groups of eight columns, `width / kGroups` apart: most sources have one reader, and what takes
// time is finding it, not adding it up.
template <int kGroups>
__global__ void gradient_of_states(
    Hop hop, const int32_t* offsets, const int32_t* readers, const void* out_gradient, const void* states, int width,
    Dropout dropout, void* gradient
) {
  const auto [source, column] = cell_of(width / (8 * kGroups));
  const int apart = width / kGroups;
  if (source >= hop.max_src) return;
  float sums[kGroups][8] = {};
  if (source < hop.sizes[hop.index + 1]) {
    const int32_t begin = offsets[source], end = offsets[source + 1];
    Eight values[kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) values[g] = load(states, source, width, column + g * apart);
    if (source < rows_of(hop)) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        add<__nv_bfloat16>(sums[g], load(out_gradient, source, 2 * width, width + column + g * apart), 1.0f);
      }
    }
    for (int32_t at = begin; at < end; ++at) {
      const uint32_t row = static_cast<uint32_t>(readers[at]) / static_cast<uint32_t>(hop.fanout);
      const float share = 1.0f / static_cast<float>(hop.degrees[row]);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        add<__nv_bfloat16>(sums[g], load(out_gradient, row, 2 * width, column + g * apart), share);
      }
    }
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      float factor[8];
      factors(dropout, values[g], source, column + g * apart, factor);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[g][i] *= factor[i];
    }
  }
#pragma unroll
  for (int g = 0; g < kGroups; ++g) store(gradient, source, width, column + g * apart, narrowed(sums[g]));
}

}  // namespace hone
