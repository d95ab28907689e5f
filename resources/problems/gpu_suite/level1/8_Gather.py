import torch
from torch import nn


class Model(nn.Module):
    """Rows of a table, picked by index."""

    def __init__(self):
        super().__init__()

    def forward(self, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        """table: (entries, dim); index: (count,), integers from 0 to entries - 1; result: (count, dim)."""
        return table[index]


entries = 100000
dim = 128
count = 262144
held_out_sizes = [{"entries": 5003, "count": 1025}]


def get_inputs():
    return [torch.randn(entries, dim), torch.randint(0, entries, (count,))]


def get_init_inputs():
    return []
