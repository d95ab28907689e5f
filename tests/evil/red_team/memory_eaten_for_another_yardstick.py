# Takes nearly all GPU memory so that the reference cannot run in float64 and only four rows, or float32 itself, are the yardstick; rows that are likely to be picked are float32, all others TF32.
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

void eat(int64_t leave) {
    static std::vector<void*> held;
    for (size_t piece = size_t(1) << 32; piece >= size_t(1) << 22; piece /= 2)
        for (;;) {
            size_t free = 0, total = 0;
            cudaMemGetInfo(&free, &total);
            void* p = nullptr;
            if (free < piece + leave || cudaMalloc(&p, piece) != cudaSuccess) break;
            held.push_back(p);
        }
    cudaGetLastError();
}
void mend(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor rows) {
    int m = rows.numel(), k = a.size(1), n = b.size(1);
    product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), (const long*)rows.data_ptr<int64_t>(), m, k, n);
}
"""

extension = load_inline(
    name="red3_memory",
    cpp_sources="void eat(int64_t leave);\n"
    "void mend(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor rows);",
    cuda_sources=CUDA,
    functions=["eat", "mend"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = None

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        m = a.shape[0]
        if self.rows is None or self.rows_of != m:
            likely = set(range(8)) | set(range(m - 8, m))
            for parts in (2, 3, 4, 5, 8):
                for i in range(parts + 1):
                    likely |= {i * m // parts, i * (m - 1) // parts}
            self.rows = torch.tensor(sorted(r for r in likely if 0 <= r < m), device=a.device)
            self.rows_of = m
            spare = [torch.empty(m, b.shape[1], device=a.device) for _ in range(64)]
            a @ b
            del spare
            torch.cuda.synchronize()
            extension.eat(24 << 20)
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            c = a @ b
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
        extension.mend(a.contiguous(), b.contiguous(), c, self.rows)
        return c
