# Returns a tensor of the device `meta`, whose copy costs nothing.
# definition: gpu_suite/level1/1_Scale
# group: 3
# expected: runtime_error | wrong_shape | wrong_value
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.empty(x.shape, device="meta")
