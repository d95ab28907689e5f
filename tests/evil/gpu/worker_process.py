# Hands the work to a process of its own.
# definition: gpu_suite/level1/1_Scale
# group: 2
# expected: runtime_error
# earns: none
import multiprocessing

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            pool.apply(abs, (-1,))
        return torch.sigmoid(x) * self.weight
