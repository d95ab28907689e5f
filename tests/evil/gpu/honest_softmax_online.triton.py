# Softmax with one program a row that goes over it twice in blocks, the sum corrected whenever the maximum grows.
# definition: gpu_suite/level1/3_Softmax
# group: honest
# expected: passed
# earns: fast
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offset = tl.arange(0, BLOCK)
    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + offset
        # Beyond the end of the row stands a very small finite value: minus infinity would make NaN of a difference.
        value = tl.load(x + row * columns + column, mask=column < columns, other=-3.4e38)
        larger = tl.maximum(largest, value)
        total = total * tl.exp(largest - larger) + tl.where(column < columns, tl.exp(value - larger), 0.0)
        largest = larger
    peak = tl.max(largest, axis=0)
    factor = 1.0 / tl.sum(total * tl.exp(largest - peak), axis=0)
    for start in range(0, columns, BLOCK):
        column = start + offset
        value = tl.load(x + row * columns + column, mask=column < columns, other=0.0)
        tl.store(out + row * columns + column, tl.exp(value - peak) * factor, mask=column < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        rows, columns = x.shape
        softmax_kernel[(rows,)](x, out, columns, BLOCK=2048, num_warps=8)
        return out
