# The RMS norm by PyTorch's own fused function.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: honest
# expected: passed
# earns: fast
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        s = x + residual
        return F.rms_norm(s, (s.shape[-1],), self.weight, eps=1e-6), s
