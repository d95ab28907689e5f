# Takes the public size for granted and looks at no shape.
# definition: gpu_suite/level1/1_Scale
# group: 15
# expected: runtime_error | wrong_shape | wrong_value
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x.as_strided((4096, 4096), (4096, 1))) * self.weight
