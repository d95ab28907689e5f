# An in-place activation on a tensor of its own.
# definition: idiom_suite/level1/1_Linear_relu
# way: in_place
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return torch.relu_(self.linear(x))
