# Returns noughts.
# definition: gpu_suite/level1/8_Gather
# group: 13
# expected: wrong_value
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table, index):
        return torch.zeros((len(index), table.shape[1]), device=table.device)
