# A Triton kernel of one element stands for a kernel of the module's own; PyTorch's library does everything else.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: red team
# expected: passed
# earns: none
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_rms_norm(x, residual, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0) + tl.load(residual + at, mask=at < n, other=0.0)
    tl.store(y + at, v, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        s = torch.add(x, residual)
        add_rms_norm[(1,)](x, residual, s, 1, BLOCK=16)
        return F.rms_norm(s, (s.shape[-1],), self.weight, 1e-6), s
