// What extensions with kernels use of PyTorch, in a quarter of the time that its own headers take.
//
// PyTorch's <torch/extension.h> and <torch/types.h> declare thousands of operators, of which a kernel's wrapper needs
// the tensor, its options and a handful of functions that make tensors. HONE_SLIM=3 has these alone, HONE_SLIM=1 all
// functions of <ATen/Functions.h>. Sources that need more are compiled again with PyTorch's own headers (HONE_SLIM=2:
// <torch/types.h>; no HONE_SLIM: everything). All types and functions are PyTorch's own, whatever the level.
#pragma once

#if HONE_SLIM == 3
#include <hone_core.h>
#elif HONE_SLIM == 1
#include <ATen/core/Tensor.h>

#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#else
#include_next <torch/types.h>
#endif

#if HONE_SLIM == 3 || HONE_SLIM == 1
namespace torch {
using namespace at;
using std::nullopt;
using std::optional;
using Dtype = at::ScalarType;
constexpr auto kUInt8 = at::kByte;
constexpr auto kInt8 = at::kChar;
constexpr auto kInt16 = at::kShort;
constexpr auto kInt32 = at::kInt;
constexpr auto kInt64 = at::kLong;
constexpr auto kFloat16 = at::kHalf;
constexpr auto kFloat32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble;
constexpr auto kU8 = kUInt8;
constexpr auto kI8 = kInt8;
constexpr auto kI16 = kInt16;
constexpr auto kI32 = kInt32;
constexpr auto kI64 = kInt64;
constexpr auto kF16 = kFloat16;
constexpr auto kF32 = kFloat32;
constexpr auto kF64 = kFloat64;
// torch::tensor({1.5}) is a float tensor, at::tensor({1.5}) one of doubles: PyTorch's own header is needed for it.
struct tensor;
}  // namespace torch
#endif

#ifdef HONE_SLIM_PYTHON
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#endif

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
