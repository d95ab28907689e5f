// The layout of a Swiss table (Abseil, parallel-hashmap): one control byte an entry with seven bits of the hash,
// sixteen of them compared at once. For the design study: SALIENT's sampler uses such a map.
#pragma once

#include <cstdint>
#include <cstring>

#include "maps.h"
#include "memory.h"
#include "random.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hone {

class SwissMap {
 public:
  void begin(int64_t) {
    if (groups_ > 0) std::memset(control_.data(), kFree, groups_ * kGroup);
    count_ = 0;
  }
  void reserve(int64_t more) {
    if ((count_ + more) * 8 > groups_ * kGroup * 7) rehash(count_ + more);
  }
  void prefetch(int32_t id) const {
    const int64_t group = static_cast<int64_t>((hash(id) >> 7) & mask_);
    ask_to_write(control_.data() + group * kGroup);
    ask_to_write(entries_.data() + group * kGroup);
  }
  int32_t local(int32_t id, int32_t fresh) {
    const uint64_t hashed = hash(id);
    const int8_t tag = static_cast<int8_t>(hashed & 0x7F);
    for (uint64_t step = 0, group = (hashed >> 7) & mask_;; group = (group + ++step) & mask_) {
      for (uint32_t same = equal(group, tag); same != 0; same &= same - 1) {
        const uint64_t found = entries_[group * kGroup + __builtin_ctz(same)];
        if (static_cast<int32_t>(found >> 32) == id) return static_cast<int32_t>(static_cast<uint32_t>(found));
      }
      if (const uint32_t free = equal(group, kFree); free != 0) {
        put(group * kGroup + __builtin_ctz(free), tag, id, fresh);
        return fresh;
      }
    }
  }

 private:
  static constexpr int64_t kGroup = 16;
  static constexpr int8_t kFree = -128;

  static uint64_t hash(int32_t id) { return mix(static_cast<uint32_t>(id)); }

  void put(int64_t place, int8_t tag, int32_t id, int32_t local) {
    control_[place] = tag;
    entries_[place] = static_cast<uint64_t>(static_cast<uint32_t>(id)) << 32 | static_cast<uint32_t>(local);
    ++count_;
  }

  // One bit for each control byte of the group that equals `wanted`.
  uint32_t equal(uint64_t group, int8_t wanted) const {
    const int8_t* bytes = control_.data() + group * kGroup;
#if defined(__SSE2__)
    const __m128i found = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(found, _mm_set1_epi8(wanted))));
#else
    uint32_t same = 0;
    for (int i = 0; i < kGroup; ++i) same |= static_cast<uint32_t>(bytes[i] == wanted) << i;
    return same;
#endif
  }

  void rehash(int64_t needed) {
    const int64_t old_places = groups_ * kGroup;
    Array<int8_t> old_control = std::move(control_);
    Array<uint64_t> old_entries = std::move(entries_);
    groups_ = groups_ == 0 ? 256 : groups_ * 2;
    while (needed * 8 > groups_ * kGroup * 7) groups_ *= 2;
    mask_ = static_cast<uint64_t>(groups_) - 1;
    control_ = Array<int8_t>();
    entries_ = Array<uint64_t>();
    control_.reserve(groups_ * kGroup, 0);
    entries_.reserve(groups_ * kGroup, 0);
    begin(0);
    for (int64_t i = 0; i < old_places; ++i) {
      if (old_control[i] == kFree) continue;
      local(static_cast<int32_t>(old_entries[i] >> 32), static_cast<int32_t>(static_cast<uint32_t>(old_entries[i])));
    }
  }

  Array<int8_t> control_;
  Array<uint64_t> entries_;
  int64_t count_ = 0;
  int64_t groups_ = 0;
  uint64_t mask_ = 0;
};

}  // namespace hone
