// What a launcher's body needs to call SGLang's host functions: tensors from pointers. Our own text.
#pragma once

#include <dlpack/dlpack.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace hone {

template <typename T>
constexpr DLDataType dl_type() {
  return {uint8_t(sizeof(T) == 2 && !std::is_same_v<T, __half> ? kDLBfloat : kDLFloat), uint8_t(8 * sizeof(T)), 1};
}

template <typename T>
tvm::ffi::TensorView vector_of(const T* data, int64_t length) {
  return tvm::ffi::TensorView(data, dl_type<T>(), {length});
}

template <typename T>
tvm::ffi::TensorView matrix_of(const T* data, int64_t rows, int64_t columns) {
  return tvm::ffi::TensorView(data, dl_type<T>(), {rows, columns});
}

}  // namespace hone
