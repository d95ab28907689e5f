# Returns its result in another memory layout than the reference: the elements of a column lie one after the other.
# definition: gpu_suite/level1/1_Scale
# way: non_contiguous
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return (torch.sigmoid(x) * self.weight).t().contiguous().t()
