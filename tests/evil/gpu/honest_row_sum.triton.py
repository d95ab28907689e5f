# Row sums with one program a row: partial sums for each lane, reduced at the end.
# definition: gpu_suite/level1/2_Row_sum
# group: honest
# expected: passed
# earns: fast
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_sum_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    partial = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        partial += tl.load(x + row * columns + column, mask=column < columns, other=0.0)
    tl.store(out + row, tl.sum(partial, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        out = torch.empty((rows, 1), dtype=x.dtype, device=x.device)
        row_sum_kernel[(rows,)](x, out, columns, BLOCK=1024, num_warps=4)
        return out
