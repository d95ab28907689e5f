# Has as many blocks as fit and no masks: what is left over is never computed.
# definition: gpu_suite/level1/1_Scale
# group: 15
# expected: wrong_value
# earns: none
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale(x, weight, out, columns, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, tl.sigmoid(tl.load(x + place)) * tl.load(weight + place % columns))


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        out = torch.empty_like(x)
        scale[(x.numel() // 1024,)](x, self.weight, out, x.shape[1], BLOCK=1024)
        return out
