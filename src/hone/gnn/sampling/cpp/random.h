// Random numbers that depend on what is drawn, not on who draws it or when: one stream per (key, node), and a key per
// (seed, epoch, batch, hop). The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014); bounded numbers are made by Lemire's method with rejection ("Fast random integer
// generation in an interval", 2019), so that they are exactly uniform for every bound.
#pragma once

#include <cstdint>

// On a GPU the same numbers are drawn by the same code.
#ifdef __CUDACC__
#define HONE_ANYWHERE __host__ __device__
#else
#define HONE_ANYWHERE
#endif

namespace hone {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

// A bijection of 64-bit words in which every input bit changes every output bit with probability about one half.
HONE_ANYWHERE inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// The key of one hop of one batch. Each word goes through the mixer, so that (1, 2) and (2, 1) are different keys.
HONE_ANYWHERE inline uint64_t hop_key(uint64_t seed, uint64_t epoch, uint64_t batch, uint64_t hop) {
  uint64_t key = mix(seed + kGolden);
  const uint64_t words[] = {epoch, batch, hop};
  for (int i = 0; i < 3; ++i) key = mix((key ^ words[i]) + kGolden);
  return key;
}

// The numbers of one node in one hop.
class Stream {
 public:
  HONE_ANYWHERE Stream(uint64_t key, int32_t node) : state_(mix(key + kGolden * static_cast<uint32_t>(node))) {}

  // Uniform in [0, bound), for 0 < bound < 2^32.
  HONE_ANYWHERE uint32_t below(uint32_t bound) {
    uint64_t product = static_cast<uint64_t>(next()) * bound;
    if (static_cast<uint32_t>(product) < bound) {  // rare: only here can a number be one of those too many
      const uint32_t surplus = (0u - bound) % bound;
      while (static_cast<uint32_t>(product) < surplus) product = static_cast<uint64_t>(next()) * bound;
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  // 32 bits; a 64-bit word of the generator serves twice.
  HONE_ANYWHERE uint32_t next() {
    if (half_) {
      half_ = false;
      return static_cast<uint32_t>(word_);
    }
    state_ += kGolden;
    word_ = mix(state_);
    half_ = true;
    return static_cast<uint32_t>(word_ >> 32);
  }

  uint64_t state_;
  uint64_t word_ = 0;
  bool half_ = false;
};

}  // namespace hone
