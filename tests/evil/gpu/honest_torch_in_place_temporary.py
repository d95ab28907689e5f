# Sigmoid times weight in PyTorch, the product in place on the temporary tensor, which saves memory.
# definition: gpu_suite/level1/1_Scale
# group: honest
# expected: passed
# earns: fast
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x).mul_(self.weight)
