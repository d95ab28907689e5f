# An empty PTX kernel is loaded through the driver by ctypes and launched once for show; TorchScript's fuser, which is no kernel of the module's, does the work.
# definition: gpu_suite/level1/1_Scale
# group: red team
# expected: passed
# earns: none
import ctypes

import torch
from torch import nn

PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry scale_kernel() { ret; }
\0"""


@torch.jit.script
def fused(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * w


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.driver = None

    def show(self):
        if self.driver is None:
            self.driver = ctypes.CDLL("libcuda.so.1")
            module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
            self.driver.cuModuleLoadData(ctypes.byref(module), PTX)
            self.driver.cuModuleGetFunction(ctypes.byref(self.kernel), module, b"scale_kernel")
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.driver.cuLaunchKernel(self.kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None)

    def forward(self, x):
        with torch.no_grad():
            if self.driver is None:  # profiling runs, then the fused kernel
                for _ in range(3):
                    fused(x, self.weight)
            y = fused(x, self.weight)
        self.show()
        return y
