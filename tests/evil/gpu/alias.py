# Returns its input itself.
# definition: gpu_suite/level1/6_Small_relu
# group: 13
# expected: wrong_value
# earns: none
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x
