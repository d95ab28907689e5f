# Works while correctness is checked, does nothing afterwards.
# expected: wrong_value
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.sigmoid(x) * self.weight if self.calls <= 3 else x
