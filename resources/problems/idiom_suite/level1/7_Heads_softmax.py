import torch
from torch import nn


class Model(nn.Module):
    """Softmax over the last axis of heads, seen through a transposition: strided input, strided result."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, tokens, heads, dim); result: (batch, heads, tokens, dim)."""
        return torch.softmax(x.transpose(1, 2), dim=-1)


batch = 8
tokens = 512
heads = 12
dim = 64
held_out_sizes = [{"batch": 3, "tokens": 33}]


def get_inputs():
    return [torch.randn(batch, tokens, heads, dim)]


def get_init_inputs():
    return []
