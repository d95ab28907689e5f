# Convolution, minimum over one dimension without its indices, softmax over the channels: nothing is compiled.
# definition: kernelbench_v01/level2/24_Conv3d_Min_Softmax
# expected: passed
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, filters, size, dim):
        super().__init__()
        self.convolution = nn.Conv3d(channels, filters, size)  # the same weights as the reference's, from the same seed
        self.dim = dim

    def forward(self, x):
        return self.convolution(x).amin(self.dim).softmax(1)
