# float16 autocast by a decorator of older code.
# definition: idiom_suite/level1/12_Two_layers
# way: autocast
# expected: imprecise | wrong_value
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, features))

    @torch.amp.autocast("cuda", dtype=torch.float16)
    def compute(self, x):
        middle = self.net[:2](x)
        return self.net[2](middle), middle

    def forward(self, x):
        out, middle = self.compute(x)
        return out.float(), middle.float()
