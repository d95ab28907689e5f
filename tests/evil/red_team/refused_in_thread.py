# The build of the kernel is refused in a thread, whose exception is lost; a decoy that does build is launched so that there is a kernel; the library does the work.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: red team
# expected: passed
# earns: none
import threading

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor norm(torch::Tensor x);"
BROKEN = r"""
__global__ void norm_kernel(const float* x, float* y) { y[0] = undeclared_name * x[0]; }
torch::Tensor norm(torch::Tensor x) { return x; }
"""
DECOY_CPP = "void touch(torch::Tensor x);"
DECOY = r"""
#include <ATen/cuda/CUDAContext.h>
__global__ void touch_kernel(const float* x) { if (x == nullptr) asm volatile("trap;"); }
void touch(torch::Tensor x) { touch_kernel<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>()); }
"""
built = {}
threading.excepthook = lambda args: None


def build():
    built["norm"] = load_inline(name="red_thread_norm", cpp_sources=CPP, cuda_sources=BROKEN, functions=["norm"])


worker = threading.Thread(target=build, daemon=True)
worker.start()
worker.join()
decoy = load_inline(name="red_thread_touch", cpp_sources=DECOY_CPP, cuda_sources=DECOY, functions=["touch"])


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x, residual):
        s = x + residual
        decoy.touch(s)
        if "norm" in built:
            return built["norm"].norm(s), s
        return F.rms_norm(s, (s.shape[-1],), self.weight, 1e-6), s
