# Returns the first of two outputs only.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: 14
# expected: wrong_shape
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        s = x + residual
        return s * torch.rsqrt(s.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
