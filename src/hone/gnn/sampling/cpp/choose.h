// k of n positions without replacement, every subset equally likely: Floyd's algorithm (Bentley, Floyd: "A sample of
// brilliance", CACM 1987). For j = n-k .. n-1 draw t in [0, j]; take t, or j when t is already taken. The bound of the
// draw is j + 1: with j, as in SALIENT's and torch-sparse's code, some positions come too often and others never.
//
// The kinds differ only in how they remember what is taken; given the same numbers all choose the same positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "random.h"

namespace hone {

// Remembers in a hash set of the standard library, which allocates: what a plain implementation does.
class SetChooser {
 public:
  void operator()(Stream& stream, int32_t n, int32_t k, int32_t* out) {
    taken_.clear();
    for (int32_t j = n - k; j < n; ++j) {
      int32_t position = static_cast<int32_t>(stream.below(static_cast<uint32_t>(j) + 1));
      if (!taken_.insert(position).second) {
        position = j;
        taken_.insert(position);
      }
      *out++ = position;
    }
  }

 private:
  std::unordered_set<int32_t> taken_;
};

// Looks through the positions taken so far: k * k / 2 comparisons, no memory of its own.
class ArrayChooser {
 public:
  void operator()(Stream& stream, int32_t n, int32_t k, int32_t* out) {
    for (int32_t taken = 0; taken < k; ++taken) {
      const int32_t j = n - k + taken;
      const int32_t position = static_cast<int32_t>(stream.below(static_cast<uint32_t>(j) + 1));
      bool found = false;
      for (int32_t i = 0; i < taken; ++i) found |= out[i] == position;
      out[taken] = found ? j : position;
    }
  }
};

// One bit a position: constant work for each draw. Most lists are short enough for one machine word; long ones use an
// array of the positions where k is small, and a bitmap of n bits, cleared bit by bit, where it is not.
class BitsChooser {
 public:
  void operator()(Stream& stream, int32_t n, int32_t k, int32_t* out) {
    if (n <= 64) {
      word(stream, n, k, out);
    } else if (k <= kFewPositions) {
      few_(stream, n, k, out);
    } else {
      bitmap(stream, n, k, out);
    }
  }

 private:
  static constexpr int32_t kFewPositions = 32;

  static void word(Stream& stream, int32_t n, int32_t k, int32_t* out) {
    uint64_t taken = 0;
    for (int32_t j = n - k; j < n; ++j) {
      const int32_t drawn = static_cast<int32_t>(stream.below(static_cast<uint32_t>(j) + 1));
      const int32_t position = (taken >> drawn) & 1 ? j : drawn;
      taken |= uint64_t{1} << position;
      *out++ = position;
    }
  }

  void bitmap(Stream& stream, int32_t n, int32_t k, int32_t* out) {
    const size_t words = (static_cast<size_t>(n) + 63) / 64;
    if (bits_.size() < words) bits_.resize(words);
    for (int32_t i = 0; i < k; ++i) {
      const int32_t j = n - k + i;
      const int32_t drawn = static_cast<int32_t>(stream.below(static_cast<uint32_t>(j) + 1));
      const int32_t position = (bits_[drawn / 64] >> (drawn % 64)) & 1 ? j : drawn;
      bits_[position / 64] |= uint64_t{1} << (position % 64);
      out[i] = position;
    }
    for (int32_t i = 0; i < k; ++i) bits_[out[i] / 64] = 0;
  }

  ArrayChooser few_;
  std::vector<uint64_t> bits_;  // all zero between calls
};

}  // namespace hone
