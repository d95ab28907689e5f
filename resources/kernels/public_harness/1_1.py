# The product of two square matrices by PyTorch's own routine: nothing is compiled.
# definition: kernelbench_v01/level1/1_Square_matrix_multiplication_
# expected: passed
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, left, right):
        return torch.matmul(left, right)
