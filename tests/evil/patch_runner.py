# Replaces the runner's own functions: outputs are never copied.
# expected: wrong_value
import sys

import torch
from torch import nn

runner = sys.modules["hone.judge.child.cpu.candidate"]
runner.check_and_copy = lambda *arguments: None
torch.Tensor.copy_ = lambda self, other: self


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.zeros(1)
