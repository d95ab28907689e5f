# The matrix product as it stands in the reference: no faster, and no slower.
# definition: gpu_suite/level1/4_Matmul
# group: honest
# expected: passed
# earns: fast
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
