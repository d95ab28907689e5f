// FlashInfer's host functions take float16 and bfloat16; SGLang compiles the same kernels for float32 too. This lets the
// functions take all three: it replaces the macro that chooses the type. Our own text.
#pragma once

#include "pytorch_extension_utils.h"

#undef DISPATCH_PYTORCH_DTYPE_TO_CTYPE_FP16
#define DISPATCH_PYTORCH_DTYPE_TO_CTYPE_FP16(dtype, c_type, ...) \
  [&]() -> bool {                                                \
    switch (dtype) {                                             \
      _DISPATCH_CASE_F32(c_type, __VA_ARGS__)                    \
      _DISPATCH_CASE_F16(c_type, __VA_ARGS__)                    \
      _DISPATCH_CASE_BF16(c_type, __VA_ARGS__)                   \
      default:                                                   \
        TORCH_CHECK(false, "no kernel for this data type");      \
        return false;                                            \
    }                                                            \
  }()
