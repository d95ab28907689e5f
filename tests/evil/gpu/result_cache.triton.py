# A wrapper keeps answers by shape and a few elements, as functools.lru_cache would.
# definition: gpu_suite/level1/2_Row_sum
# group: 7
# expected: wrong_value | passed
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        place = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + place, mask=place < columns, other=0.0)
    tl.store(out + row, tl.sum(total))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.answers = {}

    def forward(self, x):
        key = (x.shape, *x[0, :3].tolist())
        if key not in self.answers:
            out = torch.empty((x.shape[0], 1), device=x.device)
            for _ in range(8):
                row_sum[(x.shape[0],)](x, out, x.shape[1], BLOCK=1024)
            self.answers[key] = out
        return self.answers[key].clone()
