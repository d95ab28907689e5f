# Brings sizes and inputs of its own, and changes those of all modules.
# definition: gpu_suite/level1/1_Scale
# group: 24
# expected: passed | wrong_value
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import sys

import torch
from torch import nn

rows = columns = ROWS = COLUMNS = 1


def get_inputs():
    return [torch.zeros(1, 1)]


def get_init_inputs():
    return [1]


for module in list(sys.modules.values()):
    for key in ("rows", "columns"):
        if isinstance(getattr(module, "__dict__", {}).get(key), int):
            setattr(module, key, 1)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        for _ in range(8):
            result = torch.sigmoid(x) * self.weight
        return result
