# Calls the CUDA runtime through ctypes for a copy, and PyTorch for the rest.
# definition: gpu_suite/level1/6_Small_relu
# way: ctypes
# expected: passed
import ctypes

import torch
from torch import nn

DEVICE_TO_DEVICE = 3


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.runtime = None

    def forward(self, x):
        if self.runtime is None:
            major = torch.version.cuda.split(".")[0]
            self.runtime = ctypes.CDLL(f"libcudart.so.{major}")
        out = torch.empty_like(x)
        count = ctypes.c_size_t(x.numel() * x.element_size())
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        target, source = ctypes.c_void_p(out.data_ptr()), ctypes.c_void_p(x.data_ptr())
        if self.runtime.cudaMemcpyAsync(target, source, count, DEVICE_TO_DEVICE, stream) != 0:
            raise RuntimeError("the copy failed")
        return torch.relu_(out)
