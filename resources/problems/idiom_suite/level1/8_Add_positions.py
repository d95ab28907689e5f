import torch
from torch import nn


class Model(nn.Module):
    """Adds a table of sines, which is a buffer and no parameter."""

    def __init__(self, longest: int, dim: int):
        super().__init__()
        place = torch.arange(longest).unsqueeze(1)
        wave = torch.exp(torch.arange(dim) * (-8.0 / dim))
        self.register_buffer("table", torch.sin(place * wave))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (batch, tokens, dim)."""
        return x + self.table[: x.shape[1]]


batch = 16
tokens = 512
dim = 384
longest = 1024
held_out_sizes = [{"batch": 3, "tokens": 33}]


def get_inputs():
    return [torch.randn(batch, tokens, dim)]


def get_init_inputs():
    return [longest, dim]
