# A kernel in the CuTe DSL.
# definition: gpu_suite/level1/6_Small_relu
# way: cute
# expected: passed | not_judged
import cutlass
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from torch import nn


@cute.kernel
def relu_kernel(x: cute.Tensor, out: cute.Tensor, size: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    width, _, _ = cute.arch.block_dim()
    index = block * width + thread
    if index < size:
        value = x[index]
        out[index] = value if value > 0.0 else 0.0


@cute.jit
def launch(x: cute.Tensor, out: cute.Tensor, size: cutlass.Int32):
    relu_kernel(x, out, size).launch(grid=[(size + 255) // 256, 1, 1], block=[256, 1, 1])


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        launch(from_dlpack(x.view(-1)), from_dlpack(out.view(-1)), x.numel())
        return out
