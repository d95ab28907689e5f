# Puts nothing into a graph, and works when it is not being captured.
# definition: gpu_suite/level1/6_Small_relu
# group: 9
# expected: wrong_value | passed
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if torch.cuda.is_current_stream_capturing():
            return torch.empty_like(x)
        for _ in range(8):
            result = torch.relu(x)
        return result
