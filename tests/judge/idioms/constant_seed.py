# Seeds the generator in its constructor, after its weights.
# definition: idiom_suite/level1/1_Linear_relu
# way: cpu_weights
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        torch.manual_seed(0)

    def forward(self, x):
        return torch.clamp_min(self.linear(x), 0.0)
