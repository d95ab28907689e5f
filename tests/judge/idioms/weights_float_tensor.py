# torch.FloatTensor, which is another spelling of the same.
# definition: idiom_suite/level1/10_Legacy_weight
# way: legacy_constructor
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.FloatTensor(columns, 1).uniform_(-2.0, 2.0))

    def forward(self, x):
        return x + self.weight.squeeze(1)
