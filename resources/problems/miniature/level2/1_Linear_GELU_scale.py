import math

import torch
from torch import nn


class Model(nn.Module):
    """Linear layer with bias, GELU in its tanh form, and a scale for every output feature."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.randn(out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch_size, in_features); result: (batch_size, out_features)."""
        y = self.linear(x)
        inner = math.sqrt(2.0 / math.pi) * (y + 0.044715 * y * y * y)
        return 0.5 * y * (1.0 + torch.tanh(inner)) * self.scale


batch_size = 2048
in_features = 32
out_features = 256


def get_inputs():
    return [2.0 * torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
