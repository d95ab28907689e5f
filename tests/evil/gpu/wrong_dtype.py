# Returns the answer in half precision.
# definition: gpu_suite/level1/1_Scale
# group: 17
# expected: wrong_shape
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return (torch.sigmoid(x) * self.weight).half()
