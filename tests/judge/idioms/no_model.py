# Names its class Model, as the reference does.
# definition: gpu_suite/level1/6_Small_relu
# way: no_model
# expected: load_error
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
