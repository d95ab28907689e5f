# Lets cuDNN search for its fastest algorithm, in the first run.
# definition: idiom_suite/level1/3_Conv_gelu
# way: cudnn_benchmark
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn

torch.backends.cudnn.benchmark = True


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        return nn.functional.gelu(self.conv(x))
