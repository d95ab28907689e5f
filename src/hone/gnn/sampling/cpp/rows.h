// Feature rows into a batch: random reads of whole rows, written once and not read again by this core.
#pragma once

#include <cstdint>
#include <cstring>

#include "prefetch.h"

#if defined(__AVX512F__) || defined(__AVX__)
#include <immintrin.h>
#endif

namespace hone {

constexpr int64_t kLine = 64;

inline void prefetch_row(const unsigned char* row, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) ask_for(row + i);
}

// Copies whole cache lines past the caches: the target (64-byte aligned) is not read first, as ordinary stores would.
inline void stream_lines(unsigned char* to, const unsigned char* from, int64_t bytes) {
#if defined(__AVX512F__)
  for (int64_t i = 0; i < bytes; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
  }
#elif defined(__AVX__)
  for (int64_t i = 0; i < bytes; i += 32) {
    const __m256i part = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), part);
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

// Before another thread or a device may read what was streamed.
inline void finish_streaming() {
#if defined(__AVX512F__) || defined(__AVX__)
  _mm_sfence();
#endif
}

// How rows are read ahead and written.
struct RowPlan {
  const unsigned char* rows;
  int64_t row_bytes;
  int64_t ahead;  // rows asked for before they are copied
  bool stream;    // past the caches, where rows are whole lines
};

// Rows [begin, end) of a batch, whose ids are `nodes`; of ids below `known` the memory may be asked for.
inline void copy_rows(const RowPlan& plan, const int32_t* nodes, int64_t begin, int64_t end, int64_t known,
                      unsigned char* to) {
  const int64_t bytes = plan.row_bytes;
  const bool stream = plan.stream && bytes % kLine == 0;
  for (int64_t i = begin; i < end; ++i) {
    if (plan.ahead > 0 && i + plan.ahead < known) {
      prefetch_row(plan.rows + nodes[i + plan.ahead] * bytes, bytes);
    }
    const unsigned char* from = plan.rows + nodes[i] * bytes;
    if (stream) {
      stream_lines(to + i * bytes, from, bytes);
    } else {
      std::memcpy(to + i * bytes, from, bytes);
    }
  }
}

}  // namespace hone
