// Dropout's hash, and ReLU and dropout of states for two bfloat16 at a time: what a later layer's kernels spend most
// instructions on.
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

// What happens to a state: nothing, not even ReLU; dropout at one half, for which one bit decides; at any share; what
// was noted of it before (`note_of`).
enum class Drops { kNone, kHalf, kAny, kNoted };

constexpr uint32_t kHalfThreshold = 1u << 15;

__device__ inline __nv_bfloat162 pair_of(uint32_t word) {
  __nv_bfloat162 pair;
  memcpy(&pair, &word, sizeof pair);
  return pair;
}

__device__ inline uint32_t word_of(__nv_bfloat162 pair) {
  uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

// For each of two elements all ones if it is positive and kept, else zeros; `bits` are 16 random ones for each.
template <Drops kDrops>
__device__ inline uint32_t passing(uint32_t word, uint32_t bits, uint32_t threshold) {
  if (kDrops == Drops::kNone) return ~0u;
  // At one half what is dropped is compared as a negative number.
  if (kDrops == Drops::kHalf) return __hgt2_mask(pair_of(word | (~bits & 0x80008000u)), pair_of(0));
  const uint32_t low = (bits & 0xFFFFu) >= threshold ? 0x0000FFFFu : 0u, high = bits >> 16 >= threshold ? ~0xFFFFu : 0u;
  return __hgt2_mask(pair_of(word), pair_of(0)) & (low | high);
}

// Two elements, each times one or zero: exact, and what is not finite stays so.
__device__ inline uint32_t masked(uint32_t word, uint32_t mask) {
  return word_of(__hmul2(pair_of(word), pair_of(mask & 0x3F803F80u)));
}

// Which of eight elements pass: word i of group g has bits 4 g + i and 16 + 4 g + i. There is room for four groups.
template <Drops kDrops>
__device__ inline uint32_t eight_passing(const Eight& values, const uint64_t (&bits)[2], uint32_t threshold,
                                         int group) {
  uint32_t passes = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t both = static_cast<uint32_t>(bits[i / 2] >> (32 * (i % 2)));
    passes |= passing<kDrops>(values.words[i], both, threshold) & (0x00010001u << (4 * group + i));
  }
  return passes;
}

// A byte for which of eight elements pass, as `eight_passing` has them for group 0; and back, for any group.
__device__ inline uint8_t note_of(uint32_t passes) { return static_cast<uint8_t>(passes | passes >> 12); }

__device__ inline uint32_t passes_of(uint32_t note, int group) {
  return ((note & 0xFu) | (note & 0xF0u) << 12) << (4 * group);
}

// Sums as eight elements, with zeros for those that do not pass.
__device__ inline Eight passed(const float (&sums)[8], uint32_t passes, int group) {
  Eight result = narrowed(sums);
  passes >>= 8 * (group / 2);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = 4 * (group % 2) + i;
    const uint32_t ones = (passes & (0x00010001u << at)) * (0x3F80u >> at);  // of each half that passes
    result.words[i] = word_of(__hmul2(pair_of(result.words[i]), pair_of(ones)));
  }
  return result;
}

// Of three instances of a kernel the one for a dropout.
template <class Kernel>
Kernel kernel_for(const Dropout& dropout, Kernel none, Kernel half, Kernel any) {
  return dropout.scale == 0.0f ? none : dropout.threshold == kHalfThreshold ? half : any;
}

}  // namespace hone
