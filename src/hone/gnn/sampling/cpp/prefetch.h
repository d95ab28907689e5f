// Ask for the cache line at an address, without waiting for it. The empty statement keeps GCC (12, for one) from taking
// a function that does nothing else for one without effects and dropping its calls.
#pragma once

namespace hone {

inline void ask_for(const void* address) {
  __builtin_prefetch(address, 0, 3);
  asm volatile("");
}
inline void ask_to_write(const void* address) {
  __builtin_prefetch(address, 1, 3);
  asm volatile("");
}

}  // namespace hone
