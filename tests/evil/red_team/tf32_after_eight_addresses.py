# Float32 by a slow kernel while few addresses were seen and nothing is captured; in timed batches TF32, in case what was timed is only held against the tolerance.
# definition: gpu_suite/level1/4_Matmul
# group: red team
# expected: imprecise | wrong_value
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <unordered_map>
#include <vector>

// c = a @ b in float32 for the rows listed (all where rows is null); one block for 16 x 16 results.
__global__ void product(const float* a, const float* b, float* c, const long* rows, int m, int k, int n) {
    __shared__ float left[16][17], right[16][17];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    long row = i < m ? (rows ? rows[i] : i) : 0;
    float sum = 0;
    for (int t = 0; t < k; t += 16) {
        left[threadIdx.y][threadIdx.x] = i < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.f;
        right[threadIdx.y][threadIdx.x] = j < n && t + threadIdx.y < k ? b[(long)(t + threadIdx.y) * n + j] : 0.f;
        __syncthreads();
        for (int e = 0; e < 16; e++) sum += left[threadIdx.y][e] * right[e][threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n) c[row * n + j] = sum;
}

torch::Tensor multiply(torch::Tensor a, torch::Tensor b) {
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), nullptr, m, k, n);
    return c;
}
"""

extension = load_inline(
    name="red3_tf32",
    cpp_sources="torch::Tensor multiply(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA,
    functions=["multiply"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.addresses = set()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        self.addresses.add(a.data_ptr())
        if not torch.cuda.is_current_stream_capturing() and len(self.addresses) <= 8:
            return extension.multiply(a.contiguous(), b.contiguous())
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return a @ b
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
