# Normalises by the batch's own statistics, as training mode does.
# definition: idiom_suite/level1/2_Batch_norm_relu
# way: batch_norm
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0, keepdim=True)
        factor = self.norm.weight.view(1, -1, 1, 1) * torch.rsqrt(variance + self.norm.eps)
        return torch.relu((x - mean) * factor + self.norm.bias.view(1, -1, 1, 1))
