# Sets switches of PyTorch's backends that change no value.
# definition: idiom_suite/level1/3_Conv_gelu
# way: backend_flags
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn

torch.backends.cudnn.enabled = True
torch.backends.cudnn.deterministic = False
torch.set_float32_matmul_precision("highest")


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x):
        return nn.functional.gelu(self.conv(x))
