# Switches TF32 on, for products and for convolutions.
# definition: idiom_suite/level1/1_Linear_relu
# way: tf32
# expected: imprecise | wrong_value
import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return torch.relu(self.linear(x))
