# Its constructor wants an argument that nobody gives.
# definition: gpu_suite/level1/1_Scale
# way: other_arguments
# expected: load_error
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x) * self.weight
