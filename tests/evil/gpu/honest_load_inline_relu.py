# ReLU as an extension that PyTorch's load_inline builds.
# definition: gpu_suite/level1/6_Small_relu
# group: honest
# expected: passed
# earns: fast
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t count) {
    const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index < count) out[index] = x[index] < 0.0f ? 0.0f : x[index];
}

torch::Tensor relu(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int64_t count = x.numel();
    const int threads = 256;
    const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
    relu_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                                                           count);
    return out;
}
"""

extension = load_inline(
    name="honest_relu",
    cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources=CUDA_SOURCE,
    functions=["relu"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.relu(x)
