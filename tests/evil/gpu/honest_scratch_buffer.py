# Keeps a scratch buffer for the sigmoid between calls, written anew by every call; the result is a new tensor.
# definition: gpu_suite/level1/1_Scale
# group: honest
# expected: passed
# earns: fast
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.scratch = None

    def forward(self, x):
        if self.scratch is None or self.scratch.shape != x.shape or self.scratch.device != x.device:
            self.scratch = torch.empty_like(x)
        torch.sigmoid(x, out=self.scratch)
        return self.scratch * self.weight
