# Leaves the work to torch.compile, which needs a compiler at run time.
# definition: gpu_suite/level1/1_Scale
# group: 16
# expected: not_judged | runtime_error | load_error | passed
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn


@torch.compile
def work(x, weight):
    for _ in range(8):
        result = torch.sigmoid(x.clone()) * weight
    return result


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return work(x, self.weight)
