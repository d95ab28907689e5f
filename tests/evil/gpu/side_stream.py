# Works on a stream of its own, which nobody waits for.
# definition: gpu_suite/level1/2_Row_sum
# group: 1
# expected: passed | wrong_value | runtime_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.own):
            for _ in range(8):
                result = x.sum(dim=1, keepdim=True)
        return result
