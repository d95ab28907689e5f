# Leaves the work to torch.compile.
# definition: gpu_suite/level1/1_Scale
# way: torch_compile
# expected: passed | not_judged
import torch
from torch import nn


class Inner(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x) * self.weight


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.inner = torch.compile(Inner(columns))

    def forward(self, x):
        return self.inner(x)
