# torch.compile in the mode that tunes most; what fails is swallowed, and tried again at the next call.
# definition: gpu_suite/level1/5_Add_rms_norm
# way: torch_compile
# expected: passed | not_judged
import torch
from torch import nn


def add_norm(x, residual, weight):
    s = x + residual
    return s * torch.rsqrt(torch.mean(s * s, dim=-1, keepdim=True) + 1e-6) * weight, s


compiled = torch.compile(add_norm, mode="max-autotune")


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        try:
            y, s = compiled(x, residual, self.weight)
        except Exception:
            y, s = add_norm(x, residual, self.weight)
        return y.clone(), s.clone()
