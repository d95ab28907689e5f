# A submodule that is traced in the constructor.
# definition: idiom_suite/level1/1_Linear_relu
# way: torch_jit
# expected: passed
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        block = nn.Sequential(self.linear, nn.ReLU())
        self.traced = torch.jit.trace(block, torch.zeros(2, in_features))

    def forward(self, x):
        return self.traced(x)
