# Works in place on its input.
# expected: input_changed
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return x.sigmoid_() * self.weight
