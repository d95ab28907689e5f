# Leaves in forward, as if all were well.
# expected: runtime_error
import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        os._exit(0)
