# The kernel loads and stores nothing.
# definition: gpu_suite/level1/1_Scale
# group: 13
# expected: wrong_value
# earns: none
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale(x, weight, out, count, columns, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.load(x + place, mask=place < 0)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        out = torch.empty_like(x)
        scale[(triton.cdiv(x.numel(), 1024),)](x, self.weight, out, x.numel(), x.shape[1], BLOCK=1024)
        return out
