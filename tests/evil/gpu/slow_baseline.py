# Slows down what the baseline would use, if it were in this process.
# definition: gpu_suite/level1/1_Scale
# group: 23
# expected: passed | load_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import time

import torch
from torch import nn

sigmoid = torch.sigmoid


def slow(x):
    time.sleep(0.1)
    return sigmoid(x)


torch.sigmoid = torch.Tensor.sigmoid = torch.nn.functional.sigmoid = slow
torch.backends.cudnn.enabled = False
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True, warn_only=True)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        for _ in range(8):
            result = sigmoid(x) * self.weight
        return result
