# Never comes to an end while it is imported.
# definition: gpu_suite/level1/1_Scale
# group: 23
# expected: load_error | timeout | compile_error
# earns: none
import torch
from torch import nn

while True:
    pass


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x) * self.weight
