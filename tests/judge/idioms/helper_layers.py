# A layer class of its own, used by ModelNew; the kernel is a method's default argument.
# definition: idiom_suite/level1/12_Two_layers
# way: subclass
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void bias_tanh_kernel(float* out, const float* bias, int columns, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = tanhf(out[index] + bias[index % columns]);
}

void bias_tanh_(torch::Tensor out, torch::Tensor bias) {
    int size = out.numel();
    bias_tanh_kernel<<<(size + 127) / 128, 128>>>(out.data_ptr<float>(), bias.data_ptr<float>(), out.size(1), size);
}
"""

kernels = load_inline(
    "helper_layers", "void bias_tanh_(torch::Tensor out, torch::Tensor bias);", CUDA_SOURCE, functions=["bias_tanh_"]
)


class LinearTanh(nn.Linear):
    def forward(self, x, activate=kernels.bias_tanh_):
        out = x @ self.weight.t()
        activate(out, self.bias)
        return out


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.first = LinearTanh(features, hidden)
        self.last = nn.Linear(hidden, features)

    def forward(self, x):
        middle = self.first(x)
        return self.last(middle), middle
