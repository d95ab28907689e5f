# Multiplies in TF32, which is Triton's default.
# definition: gpu_suite/level1/4_Matmul
# group: 17
# expected: wrong_value | imprecise
# earns: none
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def matmul(a, b, out, m, k, n, BLOCK: tl.constexpr, DEEP: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, DEEP):
        deep = start + tl.arange(0, DEEP)
        left = tl.load(a + row[:, None] * k + deep[None, :], mask=(row[:, None] < m) & (deep[None, :] < k), other=0.0)
        right = tl.load(
            b + deep[:, None] * n + column[None, :], mask=(deep[:, None] < k) & (column[None, :] < n), other=0.0
        )
        total = tl.dot(left, right, total, input_precision="tf32")
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(out + row[:, None] * n + column[None, :], total, mask=inside)


class ModelNew(nn.Module):
    def forward(self, a, b):
        m, k, n = *a.shape, b.shape[1]
        out = torch.empty((m, n), device=a.device)
        matmul[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, out, m, k, n, BLOCK=64, DEEP=32)
        return out
