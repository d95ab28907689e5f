# A Triton kernel.
# definition: gpu_suite/level1/1_Scale
# way: triton
# expected: passed
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x, weight, out, columns, size, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < size
    value = tl.load(x + index, mask=inside)
    factor = tl.load(weight + index % columns, mask=inside)
    tl.store(out + index, factor * tl.sigmoid(value), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        out = torch.empty_like(x)
        size = x.numel()
        scale_kernel[(triton.cdiv(size, 1024),)](x, self.weight, out, x.shape[1], size, BLOCK=1024)
        return out
