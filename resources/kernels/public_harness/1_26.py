# The exact GELU, by the error function, four elements at a time.
# definition: kernelbench_v01/level1/26_GELU_
# expected: passed
# earns: fast
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cstdint>

__device__ __forceinline__ float apply(float x) {
  return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
}

__global__ void apply_all(const float* __restrict__ x, float* __restrict__ out, int64_t count) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  const int64_t first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t quads = count / 4;
  for (int64_t i = first; i < quads; i += step) {
    float4 v = reinterpret_cast<const float4*>(x)[i];
    v.x = apply(v.x);
    v.y = apply(v.y);
    v.z = apply(v.z);
    v.w = apply(v.w);
    reinterpret_cast<float4*>(out)[i] = v;
  }
  for (int64_t i = quads * 4 + first; i < count; i += step) out[i] = apply(x[i]);
}

torch::Tensor gelu(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kFloat32, "a contiguous float32 tensor");
  auto out = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return out;
  const int64_t wanted = (count / 4 + 255) / 256;
  const int blocks = wanted < 1 ? 1 : wanted > 65536 ? 65536 : int(wanted);
  apply_all<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(), count);
  return out;
}
"""

extension = load_inline(
    name="hone_gelu",
    cpp_sources="torch::Tensor gelu(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["gelu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.gelu(x)
