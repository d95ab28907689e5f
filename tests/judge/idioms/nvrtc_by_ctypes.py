# Compiles by NVRTC and launches by the driver's functions, through ctypes, on PyTorch's stream.
# definition: gpu_suite/level1/6_Small_relu
# way: nvrtc
# expected: passed
import ctypes

import torch
from torch import nn

SOURCE = rb"""
extern "C" __global__ void relu(const float* x, float* out, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = x[index] > 0.0f ? x[index] : 0.0f;
}
"""


def load_nvrtc():
    major = torch.version.cuda.split(".")[0]
    for name in (f"libnvrtc.so.{major}", f"libnvrtc.so.{major}.0", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError("no nvrtc")


def check(status):
    if status != 0:
        raise RuntimeError(f"CUDA error {status}")


def compile_kernel(target):
    nvrtc, driver = load_nvrtc(), ctypes.CDLL("libcuda.so.1")
    program = ctypes.c_void_p()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"relu.cu", 0, None, None))
    options = (ctypes.c_char_p * 1)(f"--gpu-architecture={target}".encode())
    check(nvrtc.nvrtcCompileProgram(program, 1, options))
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
    code = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetCUBIN(program, code))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuModuleLoadData(ctypes.byref(module), code))
    check(driver.cuModuleGetFunction(ctypes.byref(function), module, b"relu"))
    return driver, function


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = None

    def forward(self, x):
        if self.compiled is None:
            major, minor = torch.cuda.get_device_capability()
            self.compiled = compile_kernel(f"sm_{major}{minor}")
        driver, function = self.compiled
        out = torch.empty_like(x)
        size = ctypes.c_int(x.numel())
        values = [ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), size]
        arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
        blocks = (x.numel() + 255) // 256
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(driver.cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream, arguments, None))
        return out
