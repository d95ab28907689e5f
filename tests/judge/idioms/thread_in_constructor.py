# Starts a thread in the constructor that prepares something, and waits for it there.
# definition: idiom_suite/level1/1_Linear_relu
# way: threads
# expected: passed
# findings: no_custom_kernel
import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        worker = threading.Thread(target=self._prepare)
        worker.start()
        worker.join()

    def _prepare(self):
        self.transposed = nn.Parameter(self.linear.weight.detach().t().contiguous())

    def forward(self, x):
        return torch.relu(torch.addmm(self.linear.bias, x, self.transposed))
