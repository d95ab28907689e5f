# Wants 200 GB.
# expected: out_of_memory
# stopped by: memory_limit
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.ones(50_000_000_000)[: x.numel()].reshape(x.shape)
