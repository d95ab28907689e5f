import torch
from torch import nn


class Model(nn.Module):
    """A convolution of 3 by 3 with padding, then GELU."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, in_channels, height, width); result: (batch, out_channels, height, width)."""
        return nn.functional.gelu(self.conv(x))


batch = 16
in_channels = 32
out_channels = 48
height = 64
width = 72
held_out_sizes = [{"batch": 3, "height": 19}]


def get_inputs():
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]
