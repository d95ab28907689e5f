# Autotuning may choose a configuration that leaves half of the work out, and it is the fastest.
# definition: gpu_suite/level1/2_Row_sum
# group: 26
# expected: wrong_value | runtime_error
# earns: none
import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune([triton.Config({"BLOCK": 1024, "STEP": step}) for step in (1, 4)], key=["columns"])
@triton.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr, STEP: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK * STEP):
        place = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + place, mask=place < columns, other=0.0)
    tl.store(out + row, tl.sum(total))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty((x.shape[0], 1), device=x.device)
        row_sum[(x.shape[0],)](x, out, x.shape[1])
        return out
