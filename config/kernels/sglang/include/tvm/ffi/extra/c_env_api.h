// The stream that a kernel is launched on: the launcher sets it, SGLang's launch helper asks for it. Our own text.
#pragma once

#include <cstdint>

namespace hone {

inline void*& current_stream() {
  thread_local void* stream = nullptr;
  return stream;
}

}  // namespace hone

inline void* TVMFFIEnvGetStream(int32_t, int32_t) { return hone::current_stream(); }
