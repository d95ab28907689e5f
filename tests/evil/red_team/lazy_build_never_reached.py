# A literal load_inline call in a method that is never called is built from the source's text, so the module seems to have a kernel, while the library does the work.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: red team
# expected: passed
# earns: none
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.cpp_extension import load_inline


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.ext = None

    def _build(self):
        if self.ext is None:
            self.ext = load_inline(
                name="red_lazy_never",
                cpp_sources="torch::Tensor halves(torch::Tensor x);",
                cuda_sources=r"""
#include <ATen/cuda/CUDAContext.h>
__global__ void halves_kernel(const float* x, float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}
torch::Tensor halves(torch::Tensor x) {
    auto y = at::empty_like(x);
    long n = x.numel();
    halves_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
""",
                functions=["halves"],
            )
        return self.ext

    def forward(self, x, residual):
        if x.shape[1] == 123457:  # no size of this problem
            x = self._build().halves(x)
        s = x + residual
        return F.rms_norm(s, (s.shape[-1],), self.weight, 1e-6), s
