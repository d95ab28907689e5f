# Returns an untouched tensor as second output.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: 14
# expected: wrong_value
# earns: none
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def norm(x, residual, weight, out, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    place = tl.arange(0, BLOCK)
    inside = place < columns
    total = tl.load(x + start + place, mask=inside, other=0.0) + tl.load(
        residual + start + place, mask=inside, other=0.0
    )
    factor = tl.rsqrt(tl.sum(total * total) / columns + 1e-6)
    tl.store(out + start + place, total * factor * tl.load(weight + place, mask=inside), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        out = torch.empty_like(x)
        norm[(x.shape[0],)](x, residual, self.weight, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out, torch.empty_like(x)
