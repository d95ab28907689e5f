# Layer normalization by PyTorch's own routine: nothing is compiled.
# definition: kernelbench_v01/level1/40_LayerNorm
# expected: passed
import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = tuple(shape)
        self.gain = nn.Parameter(torch.ones(self.shape))
        self.shift = nn.Parameter(torch.zeros(self.shape))

    def forward(self, x):
        return functional.layer_norm(x, self.shape, self.gain, self.shift)
