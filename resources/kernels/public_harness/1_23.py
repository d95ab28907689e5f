# Softmax over the rows of a matrix: one block a row, one pass for maximum and sum together, one to write.
# definition: kernelbench_v01/level1/23_Softmax
# expected: passed
# earns: fast
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cstdint>

constexpr int THREADS = 1024;

struct Partial {
  float largest, total;  // total of exp(x - largest)
};

__device__ __forceinline__ Partial join(Partial a, Partial b) {
  if (b.total == 0.0f) return a;
  if (a.total == 0.0f) return b;
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.total * expf(a.largest - largest) + b.total * expf(b.largest - largest)};
}

__device__ __forceinline__ void add(Partial& sum, float x) {
  if (x <= sum.largest) {
    sum.total += expf(x - sum.largest);
  } else {
    sum.total = sum.total * expf(sum.largest - x) + 1.0f;
    sum.largest = x;
  }
}

__device__ Partial join_block(Partial mine) {
  __shared__ Partial warps[THREADS / 32];
  for (int distance = 16; distance > 0; distance /= 2) {
    const Partial other = {__shfl_xor_sync(~0u, mine.largest, distance), __shfl_xor_sync(~0u, mine.total, distance)};
    mine = join(mine, other);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = warps[0];
  for (int warp = 1; warp < THREADS / 32; warp++) mine = join(mine, warps[warp]);
  return mine;
}

__global__ void __launch_bounds__(THREADS) softmax_rows(const float* __restrict__ x, float* __restrict__ out,
                                                        int64_t columns) {
  const float* row = x + blockIdx.x * columns;
  float* result = out + blockIdx.x * columns;
  const int64_t quads = columns % 4 == 0 ? columns / 4 : 0;
  Partial sum = {-3.4e38f, 0.0f};
  for (int64_t i = threadIdx.x; i < quads; i += THREADS) {
    const float4 v = reinterpret_cast<const float4*>(row)[i];
    add(sum, v.x);
    add(sum, v.y);
    add(sum, v.z);
    add(sum, v.w);
  }
  for (int64_t i = quads * 4 + threadIdx.x; i < columns; i += THREADS) add(sum, row[i]);
  sum = join_block(sum);
  const float scale = 1.0f / sum.total;
  for (int64_t i = threadIdx.x; i < quads; i += THREADS) {
    float4 v = reinterpret_cast<const float4*>(row)[i];
    v.x = expf(v.x - sum.largest) * scale;
    v.y = expf(v.y - sum.largest) * scale;
    v.z = expf(v.z - sum.largest) * scale;
    v.w = expf(v.w - sum.largest) * scale;
    reinterpret_cast<float4*>(result)[i] = v;
  }
  for (int64_t i = quads * 4 + threadIdx.x; i < columns; i += THREADS) result[i] = expf(row[i] - sum.largest) * scale;
}

torch::Tensor softmax(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kFloat32, "a contiguous float32 tensor");
  TORCH_CHECK(x.dim() == 2, "a matrix");
  auto out = torch::empty_like(x);
  if (x.numel() == 0) return out;
  softmax_rows<<<x.size(0), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                                                            x.size(1));
  return out;
}
"""

extension = load_inline(
    name="hone_softmax",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["softmax"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softmax(x)
