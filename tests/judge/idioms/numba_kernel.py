# A kernel in numba.cuda.
# definition: gpu_suite/level1/6_Small_relu
# way: numba
# expected: passed | not_judged
import torch
from numba import cuda
from torch import nn


@cuda.jit
def relu_kernel(x, out):
    index = cuda.grid(1)
    if index < x.size:
        out[index] = max(x[index], 0.0)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        source, target = (cuda.as_cuda_array(tensor.view(-1)) for tensor in (x, out))
        relu_kernel[(x.numel() + 255) // 256, 256](source, target)
        return out
