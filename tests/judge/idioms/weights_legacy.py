# torch.Tensor(n, m) allocates on the CPU whatever the default device is, so the CPU's generator draws.
# definition: idiom_suite/level1/10_Legacy_weight
# way: legacy_constructor
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(columns, 1))
        self.weight.data.uniform_(-2.0, 2.0)

    def forward(self, x):
        return torch.add(x, self.weight.flatten())
