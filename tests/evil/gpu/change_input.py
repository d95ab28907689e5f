# Sets its input to nought and returns the answer to that.
# definition: gpu_suite/level1/2_Row_sum
# group: 12
# expected: runtime_error | input_changed | wrong_value
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x.zero_()
        return torch.zeros((len(x), 1), device=x.device)
