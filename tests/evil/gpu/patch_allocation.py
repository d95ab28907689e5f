# Makes torch.empty give the buffers of earlier answers, and copying do nothing.
# definition: gpu_suite/level1/1_Scale
# group: 5
# expected: wrong_value | runtime_error
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        torch.Tensor.copy_ = lambda self, other, non_blocking=False: self
        torch.empty = torch.empty_like = torch.zeros = lambda *arguments, **options: x
        return x
