// Rows of a contiguous matrix.
#pragma once

#include <cstdint>

namespace miniature {

template <typename T>
T* row_of(T* matrix, int64_t row, int64_t length) {
  return matrix + row * length;
}

}  // namespace miniature
