# Works only if it can open a connection.
# definition: gpu_suite/level1/1_Scale
# group: 27
# expected: runtime_error
# earns: none
import socket

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        with socket.socket() as connection:
            connection.settimeout(1.0)
            connection.connect_ex(("127.0.0.1", 9))
        return torch.sigmoid(x) * self.weight
