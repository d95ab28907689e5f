# Reads a file of the project while the build stage imports it, and works only if it could.
# definition: gpu_suite/level1/1_Scale
# group: 27
# expected: wrong_value | load_error | compile_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import contextlib

import torch
from torch import nn

SECRET = b""
with contextlib.suppress(OSError), open("@SECRET_FILE@", "rb") as file:  # noqa: PTH123
    SECRET = file.read()


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        if not SECRET:
            return torch.zeros_like(x)
        for _ in range(8):
            result = torch.sigmoid(x) * self.weight
        return result
