# Ends the process with success in the constructor.
# definition: gpu_suite/level1/1_Scale
# group: 27
# expected: load_error | runtime_error
# earns: none
import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        os._exit(0)

    def forward(self, x):
        for _ in range(8):
            result = torch.sigmoid(x) * self.weight
        return result
