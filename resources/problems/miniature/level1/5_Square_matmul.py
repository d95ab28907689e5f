import torch
from torch import nn


class Model(nn.Module):
    """Product of two square matrices: C = A * B."""

    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a, b and the result: (N, N)."""
        return torch.matmul(a, b)


N = 512


def get_inputs():
    return [torch.randn(N, N), torch.randn(N, N) / N**0.5]


def get_init_inputs():
    return []
