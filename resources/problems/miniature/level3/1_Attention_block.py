import math

import torch
from torch import nn


class Model(nn.Module):
    """Multi-head self-attention with its projections and a residual connection."""

    def __init__(self, dim: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (batch_size, seq_len, dim)."""
        batch, length, dim = x.shape
        head_dim = dim // self.num_heads
        qkv = self.qkv(x).view(batch, length, 3, self.num_heads, head_dim).permute(2, 0, 3, 1, 4)
        query, key, value = qkv[0], qkv[1], qkv[2]
        scores = query @ key.transpose(-2, -1) / math.sqrt(head_dim)
        mixed = torch.softmax(scores, dim=-1) @ value
        return x + self.proj(mixed.transpose(1, 2).reshape(batch, length, dim))


batch_size = 4
seq_len = 128
dim = 96
num_heads = 6


def get_inputs():
    return [2.0 * torch.randn(batch_size, seq_len, dim)]


def get_init_inputs():
    return [dim, num_heads]
