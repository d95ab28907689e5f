# Halves each row in place and sums it on the way, one program a row.
# definition: gpu_suite/level1/7_In_place_scale
# group: honest
# expected: passed
# earns: fast
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_and_sum_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    partial = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        value = 0.5 * tl.load(x + row * columns + column, mask=inside, other=0.0)
        tl.store(x + row * columns + column, value, mask=inside)
        partial += value
    tl.store(out + row, tl.sum(partial, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty(rows, dtype=x.dtype, device=x.device)
        scale_and_sum_kernel[(rows,)](x, out, columns, BLOCK=1024, num_warps=4)
        return out
