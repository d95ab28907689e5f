import torch
from torch import nn


class Model(nn.Module):
    """ReLU of a matrix so small that launching the kernel costs more than running it."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (rows, columns)."""
        return torch.relu(x)


rows = 256
columns = 1024
held_out_sizes = [{"rows": 31, "columns": 257}]


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
