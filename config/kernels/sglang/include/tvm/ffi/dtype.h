// Comparing and printing data types, as tvm-ffi does it. Our own text.
#pragma once

#include <dlpack/dlpack.h>

#include <ostream>

inline bool operator==(DLDataType left, DLDataType right) {
  return left.code == right.code && left.bits == right.bits && left.lanes == right.lanes;
}

inline bool operator!=(DLDataType left, DLDataType right) { return !(left == right); }

inline std::ostream& operator<<(std::ostream& stream, DLDataType type) {
  return stream << "code " << int(type.code) << ", " << int(type.bits) << " bits";
}
