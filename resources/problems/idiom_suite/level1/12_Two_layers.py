import torch
from torch import nn


class Model(nn.Module):
    """Two linear layers; returns what lies between them, too."""

    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, features))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x: (batch, features); results: (batch, features), (batch, hidden)."""
        middle = self.net[1](self.net[0](x))
        return self.net[2](middle), middle


batch = 768
features = 512
hidden = 640
held_out_sizes = [{"batch": 77}]


def get_inputs():
    return [torch.randn(batch, features)]


def get_init_inputs():
    return [features, hidden]
