# Warns at every call, and switches warnings off.
# definition: gpu_suite/level1/6_Small_relu
# way: warnings
# expected: passed
# findings: no_custom_kernel
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore", category=DeprecationWarning)


class ModelNew(nn.Module):
    def forward(self, x):
        warnings.warn("not tuned for this shape", stacklevel=2)
        return torch.where(x > 0, x, torch.zeros_like(x))
