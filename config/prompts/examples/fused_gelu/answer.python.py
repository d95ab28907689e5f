import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = "torch::Tensor bias_gelu(torch::Tensor x, torch::Tensor bias);"

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;

// Fused: the sum x + bias stays in a register, so x is read once and out is written once.
__global__ void bias_gelu_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ out,
                                 int64_t count, int64_t features) {
    constexpr float INV_SQRT2 = 0.70710678f;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < count) {
        const float sum = x[i] + bias[i % features];
        out[i] = 0.5f * sum * (1.0f + erff(sum * INV_SQRT2));
    }
}

torch::Tensor bias_gelu(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.size(-1) == bias.numel(), "one bias per feature");
    TORCH_CHECK(x.scalar_type() == torch::kFloat && bias.scalar_type() == torch::kFloat, "expected float32");
    x = x.contiguous();
    bias = bias.contiguous();
    auto out = torch::empty_like(x);
    const int64_t count = x.numel();
    const auto blocks = static_cast<unsigned int>((count + THREADS - 1) / THREADS);
    bias_gelu_kernel<<<blocks, THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), bias.data_ptr<float>(), out.data_ptr<float>(), count, bias.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

extension = load_inline(
    name="example_bias_gelu", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["bias_gelu"]
)


class ModelNew(nn.Module):
    """Bias and exact GELU in one CUDA kernel."""

    def __init__(self, features: int):
        super().__init__()
        # Created as in Model, so that the same seed gives the same values.
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.bias_gelu(x, self.bias)
