// What all kernels of the device system share. Compiled by nvcc, or by g++ against the tests' emulator of a GPU.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#ifdef __CUDACC__
#define HONE_LAUNCH(kernel, blocks, threads, stream) kernel<<<(blocks), (threads), 0, (stream)>>>
#endif

namespace hone {

// Where an epoch is. One in device memory; the last kernel of a batch's sampling moves it on, so that a captured graph
// samples the next batch whenever it is launched.
struct Progress {
  uint64_t seed;
  uint64_t epoch;
  int64_t batch;       // the one to be sampled next
  int64_t num_seeds;   // of the epoch, this process's own
  int64_t all_seeds;   // of the epoch, those of all processes
  int64_t batch_size;  // of one process
  int64_t world;       // processes
  int64_t drawn;       // batches since the map was cleared
};

struct Graph {
  const int64_t* indptr;
  const int32_t* indices;
};

// Entries of the map from global ids to slots: (kMaxDrawn - drawn) << slot_bits | slot. A later batch's entries are
// smaller than all before it, so that atomicMin forgets them, and the map is cleared once in kMaxDrawn batches only.
// Slots are numbered as a batch meets them: its seeds, the neighbours of the first hop, of the second, and so on.
struct Map {
  uint32_t* entries;  // one for each node
  int32_t slot_bits;
};

constexpr int kThreads = 256;

__device__ inline int64_t global_thread() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }

__device__ inline uint32_t tag_of(const Map& map, const Progress& progress) {
  const uint32_t most = (1u << (32 - map.slot_bits)) - 1;
  return (most - 1 - static_cast<uint32_t>(progress.drawn)) << map.slot_bits;
}

inline unsigned blocks_for(int64_t work, int64_t each) { return static_cast<unsigned>((work + each - 1) / each); }

// Eight 16-bit numbers, as many as one load brings.
struct alignas(16) Eight {
  uint32_t words[4];
};

template <class T>
__device__ inline float2 widen(uint32_t word);

template <>
__device__ inline float2 widen<__nv_bfloat16>(uint32_t word) {
  return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000u));
}

template <>
__device__ inline float2 widen<__half>(uint32_t word) {
  __half2 pair;
  memcpy(&pair, &word, sizeof pair);
  return __half22float2(pair);
}

__device__ inline uint32_t narrow(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

// Adds eight numbers, each times `factor`, to sums.
template <class T>
__device__ inline void add(float (&sums)[8], const Eight& values, float factor) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = widen<T>(values.words[i]);
    sums[2 * i] += factor * pair.x;
    sums[2 * i + 1] += factor * pair.y;
  }
}

__device__ inline void scale_by(float factor, float (&sums)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i] *= factor;
}

__device__ inline Eight narrowed(const float (&sums)[8]) {
  Eight result;
#pragma unroll
  for (int i = 0; i < 4; ++i) result.words[i] = narrow(sums[2 * i], sums[2 * i + 1]);
  return result;
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
