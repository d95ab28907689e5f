# Weights and images with the channels last in memory, which cuDNN prefers.
# definition: idiom_suite/level1/3_Conv_gelu
# way: channels_last
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)
        self.conv = self.conv.to(memory_format=torch.channels_last)

    def forward(self, x):
        x = x.contiguous(memory_format=torch.channels_last)
        return nn.functional.gelu(self.conv(x))
