# Mean over one dimension by PyTorch's own routine: nothing is compiled.
# definition: kernelbench_v01/level1/48_Mean_reduction_over_a_dimension
# expected: passed
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.mean(self.dim)
