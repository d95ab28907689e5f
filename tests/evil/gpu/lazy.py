# Returns a tensor that computes itself when somebody looks.
# definition: gpu_suite/level1/1_Scale
# group: 3
# expected: passed | wrong_shape | wrong_value | runtime_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn


class Lazy(torch.Tensor):
    @staticmethod
    def __new__(cls, x, weight):
        lazy = torch.Tensor._make_subclass(cls, torch.empty_like(x))
        lazy.parts = (x, weight)
        return lazy

    def compute(self):
        x, weight = self.parts
        for _ in range(8):
            result = torch.sigmoid(x) * weight
        return result

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        whole = [item.compute() if hasattr(item, "parts") else item for item in arguments]
        with torch._C.DisableTorchFunctionSubclass():
            return function(*whole, **(options or {}))


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return Lazy(x, self.weight)
