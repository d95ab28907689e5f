# Imports a package that no judge has.
# definition: gpu_suite/level1/6_Small_relu
# way: missing_package
# expected: not_judged
import torch
from torch import nn
from transformer_engine import pytorch as engine


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(engine.utils.cast_if_needed(x, torch.float32))
