# Draws its parameters itself, in the order in which the layer would.
# definition: idiom_suite/level1/1_Linear_relu
# way: cpu_weights
# expected: passed
# findings: no_custom_kernel
import math

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        bound = 1 / math.sqrt(in_features)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x):
        return functional.relu(functional.linear(x, self.weight, self.bias))
