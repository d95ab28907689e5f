import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two matrices."""

    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: (rows, inner), b: (inner, cols); returns (rows, cols)."""
        return torch.matmul(a, b)


rows = 1024
inner = 4096
cols = 2048


def get_inputs():
    return [torch.rand(rows, inner), torch.rand(inner, cols)]


def get_init_inputs():
    return []
