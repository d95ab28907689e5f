# Runs its layer under bfloat16 autocast, and gives back float32.
# definition: idiom_suite/level1/1_Linear_relu
# way: autocast
# expected: imprecise | wrong_value
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            out = self.linear(x)
        return torch.relu(out.float())
