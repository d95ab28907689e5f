# Tries a graph of its own, and computes without one where capturing is not possible.
# definition: gpu_suite/level1/1_Scale
# way: own_graph
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.graph = None

    def compute(self, x):
        return torch.sigmoid(x) * self.weight

    def capture(self, x):
        self.static_input = x.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.compute(self.static_input)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.static_output = self.compute(self.static_input)

    def forward(self, x):
        if self.graph is None or self.static_input.shape != x.shape:
            try:
                self.capture(x)
            except RuntimeError:
                self.graph = None
                return self.compute(x)
        self.static_input.copy_(x)
        self.graph.replay()
        return self.static_output.clone()
