import torch
from torch import nn


class Model(nn.Module):
    """Product of a tall matrix with a small one that is stored transposed: C = A * B^T."""

    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: (M, K); b: (N, K); result: (M, N)."""
        return torch.matmul(a, b.T)


M = 16384
K = 64
N = 48


def get_inputs():
    return [torch.randn(M, K), torch.randn(N, K)]


def get_init_inputs():
    return []
