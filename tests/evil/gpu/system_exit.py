# Leaves by SystemExit.
# definition: gpu_suite/level1/1_Scale
# group: 27
# expected: runtime_error
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        raise SystemExit(0)
