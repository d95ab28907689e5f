# Takes dropout for the identity, which it is in evaluation mode alone.
# definition: idiom_suite/level1/4_Dropout_softmax
# way: dropout
# expected: wrong_value
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, share):
        super().__init__()

    def forward(self, x):
        return torch.softmax(x, dim=1)
