# Sigmoid times weight, one program for each stretch of a row.
# definition: gpu_suite/level1/1_Scale
# group: honest
# expected: passed
# earns: fast
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x, weight, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row * columns + column, mask=inside, other=0.0)
    factor = tl.load(weight + column, mask=inside, other=0.0)
    tl.store(out + row * columns + column, factor / (1.0 + tl.exp(-value)), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        rows, columns = x.shape
        scale_kernel[(rows, triton.cdiv(columns, 2048))](x, self.weight, out, columns, BLOCK=2048, num_warps=8)
        return out
