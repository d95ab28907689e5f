import torch
from torch import nn


class Model(nn.Module):
    """Mean of every row, shown at each of its places: a view without memory of its own."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (rows, columns)."""
        return x.mean(dim=1, keepdim=True).expand_as(x)


rows = 4096
columns = 2048
held_out_sizes = [{"rows": 65, "columns": 258}]


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
