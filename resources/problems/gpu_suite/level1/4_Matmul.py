import torch
from torch import nn


class Model(nn.Module):
    """Product of two matrices: a @ b."""

    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: (m, k); b: (k, n); result: (m, n)."""
        return a @ b


m = 1024
k = 2048
n = 512
held_out_sizes = [{"m": 515, "k": 1030, "n": 258}]


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs():
    return []
