# Returns a correct tensor in CPU memory, of which nobody has waited for the copy.
# definition: gpu_suite/level1/6_Small_relu
# group: 3
# expected: wrong_shape | runtime_error | wrong_value | passed
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        result = torch.empty(x.shape, pin_memory=True)
        return result.copy_(torch.relu(x), non_blocking=True)
