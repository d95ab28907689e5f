# The gather by torch.nn.functional.embedding.
# definition: gpu_suite/level1/8_Gather
# group: honest
# expected: passed
# earns: fast
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return F.embedding(index, table)
