import torch
from torch import nn


class Model(nn.Module):
    """Batch normalisation of an image's channels, then ReLU."""

    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (batch, channels, height, width)."""
        return torch.relu(self.norm(x))


batch = 32
channels = 64
height = 56
width = 56
held_out_sizes = [{"batch": 3, "height": 17}]


def get_inputs():
    return [torch.randn(batch, channels, height, width) * 2 + 1]


def get_init_inputs():
    return [channels]
