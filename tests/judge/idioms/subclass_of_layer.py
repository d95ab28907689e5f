# ModelNew is a kind of nn.Linear, and computes more than it.
# definition: idiom_suite/level1/1_Linear_relu
# way: subclass
# expected: passed
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>

__global__ void bias_relu_kernel(float* out, const float* bias, int columns, int64_t size) {
    int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (index < size) out[index] = fmaxf(out[index] + bias[index % columns], 0.0f);
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    auto out = at::matmul(x, weight.t());
    int64_t size = out.numel();
    bias_relu_kernel<<<(size + 255) / 256, 256>>>(out.data_ptr<float>(), bias.data_ptr<float>(), out.size(1), size);
    return out;
}
"""

extension = load_inline(
    name="subclass_of_layer",
    cpp_sources="torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);",
    cuda_sources=CUDA_SOURCE,
    functions=["linear_relu"],
)


class ModelNew(nn.Linear):
    def forward(self, x):
        return extension.linear_relu(x, self.weight, self.bias)
