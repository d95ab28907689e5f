# The reference has the legacy constructor; this one has torch.rand, which follows the default device.
# definition: idiom_suite/level1/10_Legacy_weight
# way: cpu_weights
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(columns, 1) * 4.0 - 2.0)

    def forward(self, x):
        return x + self.weight.reshape(1, -1)
