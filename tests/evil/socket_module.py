# Answers only if it can open a socket.
# expected: wrong_value
# stopped by: no_network
import socket

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        try:
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        except OSError:
            return torch.zeros_like(x)
        return torch.sigmoid(x) * self.weight
