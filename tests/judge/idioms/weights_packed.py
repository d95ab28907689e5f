# Transposes its weight at construction; parameters have other names and shapes than the reference's.
# definition: idiom_suite/level1/1_Linear_relu
# way: packed_weights
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
    auto out = at::matmul(x, weight);
    int64_t size = out.numel();
    bias_relu_kernel<<<(size + 255) / 256, 256>>>(out.data_ptr<float>(), bias.data_ptr<float>(), out.size(1), size);
    return out;
}
"""

extension = load_inline(
    name="weights_packed",
    cpp_sources="torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);",
    cuda_sources=CUDA_SOURCE,
    functions=["linear_relu"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        linear = nn.Linear(in_features, out_features)
        self.packed = nn.Parameter(linear.weight.detach().t().contiguous())
        self.bias = nn.Parameter(linear.bias.detach().clone())

    def forward(self, x):
        return extension.linear_relu(x, self.packed, self.bias)
