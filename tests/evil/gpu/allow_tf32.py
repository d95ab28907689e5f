# Switches TF32 on.
# definition: gpu_suite/level1/4_Matmul
# group: 17
# expected: wrong_value | imprecise
# earns: none
import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("medium")


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
