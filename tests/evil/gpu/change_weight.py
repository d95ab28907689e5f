# Sets its own weights to nought, and with them its answer.
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
        self.weight.data.zero_()
        return torch.zeros_like(x)
