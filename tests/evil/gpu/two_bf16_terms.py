# Splits each factor into two bfloat16 terms: within the tolerance for most elements, not exact.
# definition: gpu_suite/level1/4_Matmul
# group: 17
# expected: wrong_value | imprecise
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        high_a, high_b = a.bfloat16(), b.bfloat16()
        low_a, low_b = (a - high_a).bfloat16(), (b - high_b).bfloat16()
        left = torch.cat((high_a, high_a, low_a), dim=1)
        right = torch.cat((high_b, low_b, high_b), dim=0)
        return (left @ right).float()
