# Residual sum and RMS norm in one kernel, one program a row.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: honest
# expected: passed
# earns: fast
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_rms_norm_kernel(x, residual, weight, y, sums, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    column = tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row + column, mask=inside, other=0.0)
    value += tl.load(residual + row + column, mask=inside, other=0.0)
    tl.store(sums + row + column, value, mask=inside)
    factor = tl.rsqrt(tl.sum(value * value, axis=0) / columns + epsilon)
    scale = tl.load(weight + column, mask=inside, other=0.0)
    tl.store(y + row + column, value * factor * scale, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        x, residual = x.contiguous(), residual.contiguous()
        y, sums = torch.empty_like(x), torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        add_rms_norm_kernel[(rows,)](x, residual, self.weight, y, sums, columns, 1e-6, BLOCK=block, num_warps=8)
        return y, sums
