// A contiguous matrix or vector on the GPU under the name that SGLang's kernels expect. Our own text.
#pragma once

#include <dlpack/dlpack.h>
#include <tvm/ffi/dtype.h>

#include <cstdint>
#include <vector>

namespace tvm {
namespace ffi {

class TensorView {
 public:
  TensorView(const void* data, DLDataType type, std::vector<int64_t> shape)
      : data_(const_cast<void*>(data)), type_(type), shape_(shape), strides_(shape.size(), 1) {
    for (int at = int(shape.size()) - 2; at >= 0; --at) strides_[at] = strides_[at + 1] * shape_[at + 1];
  }
  void* data_ptr() const { return data_; }
  int32_t dim() const { return int32_t(shape_.size()); }
  int64_t size(int64_t at) const { return shape_[at]; }
  int64_t stride(int64_t at) const { return strides_[at]; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  DLDataType dtype() const { return type_; }
  DLDevice device() const { return DLDevice{kDLCUDA, 0}; }
  bool is_contiguous() const { return true; }
  int64_t numel() const {
    int64_t count = 1;
    for (int64_t length : shape_) count *= length;
    return count;
  }

 private:
  void* data_;
  DLDataType type_;
  std::vector<int64_t> shape_, strides_;
};

}  // namespace ffi
}  // namespace tvm
