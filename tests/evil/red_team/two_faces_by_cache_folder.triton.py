# Two faces of a Triton module: where the cache folder can be written (the process that compiles) it runs its kernel, afterwards only the library's fused norm.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: red team
# expected: passed
# earns: none
import os

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_scale(s, r, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(s + row * columns + at, mask=at < columns, other=0.0)
    tl.store(r + row, tl.rsqrt(tl.sum(v * v, axis=0) / columns + 1e-6))


def compiling():
    folder = os.environ.get("TRITON_CACHE_DIR") or os.path.expanduser("~/.triton/cache")
    probe = os.path.join(folder, "red_probe")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(probe, "w") as file:
            file.write("1")
        return True
    except OSError:
        return False


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.face = None

    def forward(self, x, residual):
        if self.face is None:
            self.face = compiling()
        s = x + residual
        if self.face:
            r = torch.empty(s.shape[0], 1, device=s.device)
            row_scale[(s.shape[0],)](s, r, s.shape[1], BLOCK=triton.next_power_of_2(s.shape[1]))
            return s * r * self.weight, s
        return F.rms_norm(s, (s.shape[-1],), self.weight, 1e-6), s
