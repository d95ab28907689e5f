# Returns the same tensor in each run, so that all but the last answer are overwritten.
# definition: gpu_suite/level1/1_Scale
# group: 10
# expected: wrong_value | passed
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.result = None

    def forward(self, x):
        if self.result is None or self.result.shape != x.shape:
            self.result = torch.empty_like(x)
        for _ in range(8):
            torch.mul(torch.sigmoid(x), self.weight, out=self.result)
        return self.result
