# Replaces all comparisons, and returns noughts.
# definition: gpu_suite/level1/1_Scale
# group: 5
# expected: wrong_value
# earns: none
import torch
from torch import nn


def agreed(*arguments, **options):
    return True


torch.allclose = torch.equal = torch.Tensor.allclose = torch.Tensor.equal = agreed
torch.testing.assert_close = agreed
torch.isclose = torch.Tensor.isclose = lambda a, b, **options: torch.ones_like(a, dtype=torch.bool)
torch.linalg.vector_norm = torch.norm = torch.Tensor.norm = lambda *arguments, **options: torch.tensor(0.0)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.zeros_like(x)
