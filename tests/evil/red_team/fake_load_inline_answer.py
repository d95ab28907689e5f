# The module puts its own load_inline in the place of PyTorch's; what it answers is a namespace of TorchScript functions fused by NVRTC, while the text shows a kernel that is built.
# definition: gpu_suite/level1/1_Scale
# group: red team
# expected: not_judged | passed
# earns: none
import types

import torch
from torch import nn
from torch.utils import cpp_extension


@torch.jit.script
def scripted(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * w


real = cpp_extension.load_inline
if torch.cuda.is_available():  # the build, which has no GPU, sees PyTorch's own
    cpp_extension.load_inline = lambda **call: types.SimpleNamespace(scale=scripted)

ext = cpp_extension.load_inline(
    name="red_fake_answer",
    cpp_sources="torch::Tensor scale(torch::Tensor x, torch::Tensor w);",
    cuda_sources=r"""
#include <ATen/cuda/CUDAContext.h>
__global__ void scale_kernel(const float* x, const float* w, float* y, long n, int columns) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = w[i % columns] / (1.0f + expf(-x[i]));
}
torch::Tensor scale(torch::Tensor x, torch::Tensor w) {
    auto y = at::empty_like(x);
    long n = x.numel();
    for (int again = 0; again < 8; ++again)
        scale_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), n, (int)w.numel());
    return y;
}
""",
    functions=["scale"],
)
cpp_extension.load_inline = real


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.warm = False

    def forward(self, x):
        with torch.no_grad():
            if not self.warm:  # TorchScript fuses after its profiling runs
                self.warm = True
                for _ in range(3):
                    ext.scale(x, self.weight)
            return ext.scale(x, self.weight)
