# Asks for TF32 by its newer name.
# definition: idiom_suite/level1/1_Linear_relu
# way: tf32
# expected: imprecise | wrong_value
import torch
from torch import nn

torch.set_float32_matmul_precision("high")


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return torch.relu(self.linear(x))
