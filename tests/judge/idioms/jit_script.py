# A function that TorchScript compiles and fuses when it has run a few times.
# definition: gpu_suite/level1/1_Scale
# way: torch_jit
# expected: passed
import torch
from torch import nn


@torch.jit.script
def scale(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * weight


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return scale(x, self.weight)
