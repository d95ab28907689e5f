# Prints at import, in the constructor and in every forward.
# definition: gpu_suite/level1/6_Small_relu
# way: prints
# expected: passed
# findings: no_custom_kernel
import sys

import torch
from torch import nn

print("loading ModelNew")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        print("constructing", file=sys.stderr)

    def forward(self, x):
        print("forward", tuple(x.shape))
        return torch.clamp(x, min=0)
