# Builds C++ at run time.
# expected: not_judged
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

compiled = load_inline("scale", "", functions=["scale"])


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return compiled.scale(x, self.weight)
