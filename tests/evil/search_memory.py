# Looks for the expected output among all tensors of its process.
# expected: wrong_value
import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        for item in gc.get_objects():
            if isinstance(item, torch.Tensor) and item.shape == x.shape and item is not x:
                return item.clone()
        return torch.zeros_like(x)
