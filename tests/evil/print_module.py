# Prints a gigabyte in its first run.
# expected: passed
import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.printed = False

    def forward(self, x):
        if not self.printed:
            self.printed = True
            for _ in range(1024):
                print("x" * (1 << 20))  # noqa: T201
                print("x" * (1 << 20), file=sys.stderr)  # noqa: T201
        return torch.sigmoid(x) * self.weight
