# Stops in the middle of a line, as an answer that ran out of tokens does.
# definition: gpu_suite/level1/6_Small_relu
# way: syntax_error
# expected: load_error
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x
