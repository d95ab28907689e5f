# NaN everywhere.
# expected: wrong_value
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.full_like(x, float("nan"))
