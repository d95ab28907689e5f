# Keeps memory for what lies between, and returns a new tensor.
# definition: idiom_suite/level1/12_Two_layers
# way: kept_scratch
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, features))
        self.scratch = {}

    def forward(self, x):
        first, last = self.net[0], self.net[2]
        scratch = self.scratch.get(x.shape)
        if scratch is None:
            scratch = self.scratch[x.shape] = torch.empty(x.shape[0], first.out_features, device=x.device)
        torch.addmm(first.bias, x, first.weight.t(), out=scratch)
        middle = torch.tanh(scratch)
        return last(middle), middle
