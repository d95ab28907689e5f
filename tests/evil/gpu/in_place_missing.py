# Gives the right sums but leaves x as it was.
# definition: gpu_suite/level1/7_In_place_scale
# group: 14
# expected: wrong_value
# earns: none
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.sum(dim=1) * 0.5
