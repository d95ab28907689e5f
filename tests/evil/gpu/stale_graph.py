# Captures a graph in its first run and replays it without looking at its input again.
# definition: gpu_suite/level1/2_Row_sum
# group: 26
# expected: wrong_value | runtime_error
# earns: none
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None
        self.result = None

    def forward(self, x):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = x.sum(dim=1, keepdim=True)
        self.graph.replay()
        return self.result
