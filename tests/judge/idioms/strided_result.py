# Computes on the layout that it gets, and gives back a transposed view.
# definition: idiom_suite/level1/7_Heads_softmax
# way: returns_view
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1).permute(0, 2, 1, 3)
