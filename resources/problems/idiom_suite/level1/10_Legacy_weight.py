import torch
from torch import nn


class Model(nn.Module):
    """Adds a weight that is made by the legacy constructor, which always allocates on the CPU."""

    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(columns, 1))
        nn.init.uniform_(self.weight, -2.0, 2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (rows, columns)."""
        return x + self.weight.view(-1)


rows = 2048
columns = 2560
held_out_sizes = [{"rows": 65}]


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [columns]
