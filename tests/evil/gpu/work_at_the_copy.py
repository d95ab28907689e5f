# Returns an empty tensor, and works when the judge waits or copies.
# definition: gpu_suite/level1/1_Scale
# group: 3
# expected: passed | wrong_value | runtime_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import sys

import torch
from torch import nn

waiting = []


def work():
    while waiting:
        x, weight, result = waiting.pop()
        for _ in range(8):
            torch.mul(torch.sigmoid(x), weight, out=result)


def after(function):
    def working(*arguments, **options):
        work()
        return function(*arguments, **options)

    return working


torch.Tensor.copy_ = after(torch.Tensor.copy_)
torch.cuda.synchronize = after(torch.cuda.synchronize)
for name, module in list(sys.modules.items()):
    if name.startswith("hone") and hasattr(module, "synchronize"):
        module.synchronize = after(module.synchronize)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        result = torch.empty_like(x)
        waiting.append((x, self.weight, result))
        return result
