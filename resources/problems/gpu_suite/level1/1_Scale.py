import torch
from torch import nn


class Model(nn.Module):
    """Sigmoid of every element, times a learned weight for its column."""

    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (rows, columns)."""
        return torch.sigmoid(x) * self.weight


rows = 4096
columns = 4096
held_out_sizes = [{"rows": 777, "columns": 1031}]


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [columns]
