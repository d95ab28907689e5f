# Matrix product in tiles with tl.dot in full float32.
# definition: gpu_suite/level1/4_Matmul
# group: honest
# expected: passed
# earns: fast
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def matmul_kernel(a, b, out, m, k, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, k, BLOCK_K):
        depth = start + tl.arange(0, BLOCK_K)
        inside_a = (row[:, None] < m) & (depth[None, :] < k)
        inside_b = (depth[:, None] < k) & (column[None, :] < n)
        left = tl.load(a + row[:, None] * k + depth[None, :], mask=inside_a, other=0.0)
        right = tl.load(b + depth[:, None].to(tl.int64) * n + column[None, :], mask=inside_b, other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(out + row[:, None] * n + column[None, :], sums, mask=inside)


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        m, k = a.shape
        n = b.shape[1]
        out = torch.empty((m, n), dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
        matmul_kernel[grid](a, b, out, m, k, n, BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=4)
        return out
