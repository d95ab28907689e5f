# Answers only if it finds a key in the environment or a file of the project.
# expected: wrong_value
# stopped by: read_only_files
import contextlib
import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        found = "HONE_TEST_API_KEY" in os.environ
        for path in ("@SECRET_FILE@", "/proc/1/environ", f"/proc/{os.getppid()}/environ"):
            with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
                found = found or bool(file.read())
        return torch.sigmoid(x) * self.weight * found
