# Works into its input, where that can be written to, and returns the input itself.
# definition: gpu_suite/level1/1_Scale
# group: 12
# expected: runtime_error | input_changed | wrong_value
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return x.sigmoid_().mul_(self.weight)
