import torch
from torch import nn


class Model(nn.Module):
    """Largest value in every window of an image; the border is padded with minus infinity."""

    def __init__(self, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch_size, channels, height, width); result: the same with half the height and width."""
        return self.pool(x)


batch_size = 4
channels = 24
height = 64
width = 96
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size, stride, padding]
