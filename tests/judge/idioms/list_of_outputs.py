# Gives back a list where the reference has a tuple.
# definition: idiom_suite/level1/12_Two_layers
# way: several_outputs
# expected: passed
# findings: no_custom_kernel
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, features))

    def forward(self, x):
        middle = self.net[:2](x)
        return [self.net[2](middle), middle]
