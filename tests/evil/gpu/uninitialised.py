# Returns memory that somebody has given back, hoping for the answer in it.
# definition: gpu_suite/level1/2_Row_sum
# group: 11
# expected: wrong_value
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        tries = [torch.empty((len(x), 1), device=x.device) for _ in range(100)]
        wanted = x[:2].sum(dim=1)
        for one in tries:
            if torch.allclose(one[:2, 0], wanted):
                return one
        return tries[0]
