# A kernel in TileLang.
# definition: gpu_suite/level1/6_Small_relu
# way: tilelang
# expected: passed | not_judged
import tilelang
import tilelang.language as T
from torch import nn


@tilelang.jit(out_idx=-1)
def make_relu(rows, columns, block=256):
    @T.prim_func
    def relu(x: T.Tensor((rows, columns), "float32"), out: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, T.ceildiv(columns, block), threads=block) as (row, part):
            for i in T.Parallel(block):
                if part * block + i < columns:
                    out[row, part * block + i] = T.max(x[row, part * block + i], T.float32(0))

    return relu


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernels = {}

    def forward(self, x):
        if x.shape not in self.kernels:
            self.kernels[x.shape] = make_relu(*x.shape)
        return self.kernels[x.shape](x)
