// What kernels over rows of 16-bit numbers share: which thread has which columns, loads and stores, dropout's hash.
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

// 16 bits for each of eight neighbouring elements, the first in the lowest of the first word: a hash of (key, row,
// column) in two steps, of which the first is the same for all rows. `column` is a multiple of 8 below 2^16.
__device__ inline uint64_t dropout_start(uint64_t key, int column) {
  return key + 2 * kGolden * static_cast<uint32_t>(column);
}

__device__ inline void dropout_bits(uint64_t start, uint32_t row, uint64_t (&bits)[2]) {
  const uint64_t first = start + (kGolden << 17) * row;
  bits[0] = mix(first);
  bits[1] = mix(first + kGolden);
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

}  // namespace hone
