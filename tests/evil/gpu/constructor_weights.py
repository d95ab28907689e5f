# Keeps a copy of the weights that it had in the constructor and works with that.
# definition: gpu_suite/level1/1_Scale
# group: 28
# expected: wrong_value | passed
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.kept = self.weight.detach().clone()

    def forward(self, x):
        self.kept = self.kept.to(x.device)
        for _ in range(8):
            result = torch.sigmoid(x) * self.kept
        return result
