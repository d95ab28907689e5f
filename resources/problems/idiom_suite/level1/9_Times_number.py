import torch
from torch import nn


class Model(nn.Module):
    """A matrix times a number, which is an argument."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        """x and the result: (rows, columns)."""
        return x * factor


rows = 2048
columns = 4096
held_out_sizes = [{"rows": 65, "columns": 258}]


def get_inputs():
    return [torch.randn(rows, columns), 3.25]


def get_init_inputs():
    return []
