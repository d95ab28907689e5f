import torch
from torch import nn


class Model(nn.Module):
    """A linear layer, then ReLU."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, in_features); result: (batch, out_features)."""
        return torch.relu(self.linear(x))


batch = 1024
in_features = 1024
out_features = 768
held_out_sizes = [{"batch": 77}]


def get_inputs():
    return [torch.randn(batch, in_features)]


def get_init_inputs():
    return [in_features, out_features]
