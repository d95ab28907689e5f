# A stream that the first forward makes; two matrix products that do not need each other run side by side.
# definition: idiom_suite/level1/12_Two_layers
# way: own_stream
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, features))
        self.side = None

    def forward(self, x):
        if self.side is None:
            self.side = torch.cuda.Stream()
        first, last = self.net[0], self.net[2]
        current = torch.cuda.current_stream()
        self.side.wait_stream(current)
        half = first.weight.shape[0] // 2
        left = torch.addmm(first.bias[:half], x, first.weight[:half].t())
        with torch.cuda.stream(self.side):
            right = torch.addmm(first.bias[half:], x, first.weight[half:].t())
        current.wait_stream(self.side)
        middle = torch.tanh(torch.cat([left, right], dim=1))
        return last(middle), middle
