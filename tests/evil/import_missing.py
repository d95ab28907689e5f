# Needs a package that nobody has.
# expected: load_error
import no_such_package_anywhere  # noqa: F401
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x) * self.weight
