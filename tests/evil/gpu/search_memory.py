# Looks for the expected output among all tensors of its process.
# definition: gpu_suite/level1/1_Scale
# group: 11
# expected: wrong_value
# earns: none
import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        for item in gc.get_objects():
            if isinstance(item, torch.Tensor) and item.shape == x.shape and item.data_ptr() != x.data_ptr():
                return item.clone()
        return torch.zeros_like(x)
