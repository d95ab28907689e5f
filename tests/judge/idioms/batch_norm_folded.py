# Normalises by the running statistics: right in evaluation mode alone.
# definition: idiom_suite/level1/2_Batch_norm_relu
# way: batch_norm
# expected: wrong_value
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        norm = self.norm
        factor = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        return torch.relu(x * factor.view(1, -1, 1, 1) + (norm.bias - norm.running_mean * factor).view(1, -1, 1, 1))
