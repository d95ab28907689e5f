// Arrays that grow and are used again: large pages, no allocation for each batch, page-locked on request.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "prefetch.h"

namespace hone {

// Page-locks (pin = 1) or unlocks (pin = 0) memory for a GPU; returns 0 when that worked. The code here needs no CUDA.
using PinHook = int (*)(void* address, int64_t bytes, int pin);

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A private mapping in pages of 2 MiB where the system gives them: random access then misses the TLB far less often.
class Mapping {
 public:
  static constexpr int64_t kPage = int64_t{1} << 21;

  Mapping(int64_t bytes, PinHook pin) : bytes_((bytes + kPage - 1) / kPage * kPage), pin_(pin) {
    constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* found = mmap(nullptr, bytes_ + kPage, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (found == MAP_FAILED) throw Error("cannot allocate " + std::to_string(bytes_) + " bytes");
    base_ = found;
    address_ = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(found) + kPage - 1) / kPage * kPage);
    madvise(address_, bytes_, MADV_HUGEPAGE);
    if (pin_ != nullptr && pin_(address_, bytes_, 1) != 0) {
      munmap(base_, bytes_ + kPage);
      throw Error("cannot page-lock " + std::to_string(bytes_) + " bytes; allow more locked memory or use fewer slots");
    }
  }
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Mapping() {
    if (base_ == nullptr) return;
    if (pin_ != nullptr) pin_(address_, bytes_, 0);
    munmap(base_, bytes_ + kPage);
  }

  void* address() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  void swap(Mapping& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(pin_, other.pin_);
  }

  void* base_ = nullptr;
  void* address_ = nullptr;
  int64_t bytes_ = 0;
  PinHook pin_ = nullptr;
};

// A growing array. What it outgrew stays mapped until the array ends: a caller may still look at it.
template <class T>
class Array {
 public:
  explicit Array(PinHook pin = nullptr) : pin_(pin) {}

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t capacity() const { return capacity_; }
  T& operator[](int64_t i) { return data_[i]; }

  // Room for `count` values; the first `kept` keep theirs.
  void reserve(int64_t count, int64_t kept) {
    if (count > capacity_) grow(count, kept);
  }

 private:
  void grow(int64_t count, int64_t kept) {
    const int64_t wanted = std::max(count, capacity_ * 2) * static_cast<int64_t>(sizeof(T));
    Mapping next(wanted, pin_);
    T* moved = static_cast<T*>(next.address());
    if (kept > 0) std::memcpy(moved, data_, kept * sizeof(T));
    capacity_ = next.bytes() / static_cast<int64_t>(sizeof(T));
    mappings_.push_back(std::move(next));
    data_ = moved;
  }

  PinHook pin_;
  T* data_ = nullptr;
  int64_t capacity_ = 0;
  std::vector<Mapping> mappings_;
};

}  // namespace hone
