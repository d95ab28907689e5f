# Returns a tensor without storage, which works when it is copied (__torch_dispatch__).
# definition: gpu_suite/level1/1_Scale
# group: 3
# expected: passed | wrong_shape | wrong_value | runtime_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, x, weight):
        made = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)
        made.parts = (x, weight)
        return made

    def compute(self):
        x, weight = self.parts
        for _ in range(8):
            result = torch.sigmoid(x) * weight
        return result

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), options=None):
        whole = [item.compute() if isinstance(item, cls) else item for item in arguments]
        return function(*whole, **(options or {}))


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return Wrapper(x, self.weight)
