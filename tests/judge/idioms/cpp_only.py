# C++ without a kernel: PyTorch's operators, called from there.
# definition: gpu_suite/level1/1_Scale
# way: cpp_only
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor scale(torch::Tensor x, torch::Tensor weight) {
    return torch::sigmoid(x).mul_(weight);
}
"""

extension = load_inline(name="cpp_only", cpp_sources=CPP_SOURCE, functions=["scale"])


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return extension.scale(x, self.weight)
