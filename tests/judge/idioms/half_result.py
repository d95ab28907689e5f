# Gives back 16 bits where the reference has 32.
# definition: idiom_suite/level1/1_Linear_relu
# way: half
# expected: wrong_shape
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return torch.relu(self.linear.half()(x.half()))
