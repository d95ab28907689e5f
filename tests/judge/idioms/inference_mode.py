# Computes under inference_mode.
# definition: idiom_suite/level1/1_Linear_relu
# way: inference_mode
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        with torch.inference_mode():
            return torch.relu(self.linear(x))
