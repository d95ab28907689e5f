# Starts a program.
# expected: runtime_error
# stopped by: syscall_filter
import subprocess

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        subprocess.run(["/bin/true"], check=True)
        return torch.sigmoid(x) * self.weight
