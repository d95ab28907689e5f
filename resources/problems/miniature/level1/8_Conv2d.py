import torch
from torch import nn


class Model(nn.Module):
    """Convolution of images with a square kernel, one pixel of zero padding and a bias."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch_size, in_channels, height, width); result: (batch_size, out_channels, height, width)."""
        return self.conv(x)


batch_size = 4
in_channels = 16
out_channels = 32
height = 48
width = 64
kernel_size = 3


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
