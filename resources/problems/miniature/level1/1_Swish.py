import torch
from torch import nn


class Model(nn.Module):
    """Swish activation: y = x * sigmoid(x), element by element."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (batch_size, dim)."""
        return x * torch.sigmoid(x)


batch_size = 512
dim = 2048


def get_inputs():
    return [2.0 * torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
