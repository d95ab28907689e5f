# Converts to 16 bits, multiplies, and converts back.
# definition: gpu_suite/level1/4_Matmul
# way: half
# expected: imprecise | wrong_value
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.half() @ b.half()).float()
