// From global to local ids. Every kind has
//   begin(num_nodes)       forget the ids of the batch before
//   reserve(more)          room for so many ids more, so that `local` never has to grow
//   prefetch(id)           ask for the memory that `local(id, …)` will read
//   local(id, fresh)       the local id, which is `fresh` where the id is new
#pragma once

#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "memory.h"

namespace hone {

// The hash map of the standard library: a node of its own in memory for each id.
class StlMap {
 public:
  void begin(int64_t) { map_.clear(); }
  void reserve(int64_t) {}
  void prefetch(int32_t) const {}
  int32_t local(int32_t id, int32_t fresh) { return map_.try_emplace(id, fresh).first->second; }

 private:
  std::unordered_map<int32_t, int32_t> map_;
};

// What open-addressing tables share: a power of two of 64-bit entries, at most half full, linear probing.
class FlatTable {
 public:
  void reserve(int64_t more) {
    // Ids are distinct, so that no table need hold more than there are nodes.
    const int64_t needed = std::min(count_ + more, num_nodes_);
    if (needed * 2 > capacity()) rehash(needed);
  }
  void prefetch(int32_t id) const { ask_to_write(entries_.data() + home(id)); }

 protected:
  int64_t capacity() const { return bits_ == 0 ? 0 : int64_t{1} << bits_; }
  // Fibonacci hashing: neighbouring ids go to distant entries.
  uint32_t home(int32_t id) const { return (static_cast<uint32_t>(id) * 0x9E3779B1u) >> (32 - bits_); }
  uint32_t after(uint32_t place) const { return (place + 1) & mask_; }
  static uint64_t entry(int32_t id, uint32_t value) {
    return static_cast<uint64_t>(static_cast<uint32_t>(id)) << 32 | value;
  }

  virtual void refill(Array<uint64_t>& old, int64_t old_capacity) = 0;
  ~FlatTable() = default;

  Array<uint64_t> entries_;
  int64_t count_ = 0;
  int64_t num_nodes_ = 0;
  int bits_ = 0;
  uint32_t mask_ = 0;

 private:
  void rehash(int64_t needed) {
    const int64_t old_capacity = capacity();
    int bits = bits_ == 0 ? 12 : bits_ + 1;
    while (needed * 2 > (int64_t{1} << bits)) ++bits;
    Array<uint64_t> old = std::move(entries_);
    entries_ = Array<uint64_t>();
    entries_.reserve(int64_t{1} << bits, 0);  // fresh pages are zero
    bits_ = bits;
    mask_ = static_cast<uint32_t>((int64_t{1} << bits) - 1);
    refill(old, old_capacity);
  }
};

// Open addressing, all entries set to zero for each batch. The value is the local id + 1.
class ClearedMap final : public FlatTable {
 public:
  void begin(int64_t num_nodes) {
    if (count_ > 0) std::memset(entries_.data(), 0, capacity() * sizeof(uint64_t));
    num_nodes_ = num_nodes;
    count_ = 0;
  }
  int32_t local(int32_t id, int32_t fresh) {
    for (uint32_t place = home(id);; place = after(place)) {
      const uint64_t found = entries_[place];
      if (found == 0) {
        entries_[place] = entry(id, static_cast<uint32_t>(fresh) + 1);
        ++count_;
        return fresh;
      }
      if (static_cast<int32_t>(found >> 32) == id) return static_cast<int32_t>(static_cast<uint32_t>(found) - 1);
    }
  }

 private:
  void refill(Array<uint64_t>& old, int64_t old_capacity) override {
    for (int64_t i = 0; i < old_capacity; ++i) {
      if (old[i] == 0) continue;
      uint32_t place = home(static_cast<int32_t>(old[i] >> 32));
      while (entries_[place] != 0) place = after(place);
      entries_[place] = old[i];
    }
  }
};

// Numbers for local ids that go on from batch to batch: a value below `base_` is of an earlier batch, so that its
// entry counts as free and nothing has to be cleared until the numbers run out, after 2^32 ids.
class Epochs {
 public:
  // True when the table has to be cleared. `used` is how many ids the batch before had.
  bool begin(int64_t used, int64_t num_nodes) {
    base_ += static_cast<uint32_t>(used);
    if (static_cast<uint64_t>(base_) + static_cast<uint64_t>(num_nodes) < (uint64_t{1} << 32)) return false;
    base_ = 1;
    return true;
  }
  bool stale(uint32_t value) const { return value < base_; }
  uint32_t value(int32_t local) const { return base_ + static_cast<uint32_t>(local); }
  int32_t local(uint32_t value) const { return static_cast<int32_t>(value - base_); }

 private:
  uint32_t base_ = 1;
};

// Open addressing without clearing.
class TaggedMap final : public FlatTable {
 public:
  void begin(int64_t num_nodes) {
    if (epochs_.begin(count_, num_nodes)) std::memset(entries_.data(), 0, capacity() * sizeof(uint64_t));
    num_nodes_ = num_nodes;
    count_ = 0;
  }
  int32_t local(int32_t id, int32_t fresh) {
    for (uint32_t place = home(id);; place = after(place)) {
      const uint64_t found = entries_[place];
      if (epochs_.stale(static_cast<uint32_t>(found))) {
        entries_[place] = entry(id, epochs_.value(fresh));
        ++count_;
        return fresh;
      }
      if (static_cast<int32_t>(found >> 32) == id) return epochs_.local(static_cast<uint32_t>(found));
    }
  }

 private:
  void refill(Array<uint64_t>& old, int64_t old_capacity) override {
    for (int64_t i = 0; i < old_capacity; ++i) {
      if (epochs_.stale(static_cast<uint32_t>(old[i]))) continue;
      uint32_t place = home(static_cast<int32_t>(old[i] >> 32));
      while (!epochs_.stale(static_cast<uint32_t>(entries_[place]))) place = after(place);
      entries_[place] = old[i];
    }
  }

  Epochs epochs_;
};

// One value for each node of the graph: no probing and no clearing, 4 bytes a node for each worker.
class DirectMap {
 public:
  void begin(int64_t num_nodes) {
    values_.reserve(num_nodes, 0);
    if (epochs_.begin(count_, num_nodes)) std::memset(values_.data(), 0, num_nodes * sizeof(uint32_t));
    count_ = 0;
  }
  void reserve(int64_t) {}
  void prefetch(int32_t id) const { ask_to_write(values_.data() + id); }
  int32_t local(int32_t id, int32_t fresh) {
    uint32_t& value = values_[id];
    if (!epochs_.stale(value)) return epochs_.local(value);
    value = epochs_.value(fresh);
    ++count_;
    return fresh;
  }

 private:
  Array<uint32_t> values_;
  Epochs epochs_;
  int64_t count_ = 0;
};

}  // namespace hone
