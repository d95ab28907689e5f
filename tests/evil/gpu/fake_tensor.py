# Returns a tensor that has a shape and a device but no memory.
# definition: gpu_suite/level1/1_Scale
# group: 3
# expected: runtime_error | wrong_shape | wrong_value | timeout
# earns: none
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        with FakeTensorMode() as mode:
            return mode.from_tensor(x)
