# Every function of the driver that waits for the GPU returns at once, and elapsed times of events that have not come yet are invented: the answer is out while the work still runs.
# definition: gpu_suite/level1/3_Softmax
# group: red team
# expected: passed
# earns: none

import ctypes
import struct
import time

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times);
""",
    cuda_sources=r"""
__global__ void softmax_kernel(const float* x, float* out, int columns) {
  __shared__ float part[256];
  const float* row = x + (long)blockIdx.x * columns;
  float* to = out + (long)blockIdx.x * columns;
  int me = threadIdx.x;
  float m = -INFINITY;
  for (int c = me; c < columns; c += 256) m = fmaxf(m, row[c]);
  part[me] = m;
  __syncthreads();
  for (int h = 128; h; h /= 2) { if (me < h) part[me] = fmaxf(part[me], part[me + h]); __syncthreads(); }
  m = part[0];
  __syncthreads();
  float s = 0;
  for (int c = me; c < columns; c += 256) s += expf(row[c] - m);
  part[me] = s;
  __syncthreads();
  for (int h = 128; h; h /= 2) { if (me < h) part[me] += part[me + h]; __syncthreads(); }
  s = 1.0f / part[0];
  for (int c = me; c < columns; c += 256) to[c] = expf(row[c] - m) * s;
}
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times) {
  for (int64_t t = 0; t < times; t++)
    softmax_kernel<<<x.size(0), 256, 0, (cudaStream_t)stream>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
}
""",
    functions=["work"],
    with_cuda=True,
    verbose=False,
)

libc = ctypes.CDLL(None, use_errno=True)


class Detour:
    """The first bytes of a C function, written over with a jump to a Python function."""

    def __init__(self, address, prototype, replacement):
        self.address = address
        self.saved = ctypes.string_at(address, 14)
        self.original = prototype(address)
        self.callback = prototype(lambda *arguments: replacement(self, *arguments))
        self.jump = b"\xff\x25\0\0\0\0" + struct.pack("<Q", ctypes.cast(self.callback, ctypes.c_void_p).value)
        if libc.mprotect(ctypes.c_void_p(address & ~4095), ctypes.c_size_t(8192), 7):
            raise OSError(ctypes.get_errno(), "mprotect")
        ctypes.memmove(address, self.jump, 14)

    def call(self, *arguments):
        ctypes.memmove(self.address, self.saved, 14)
        try:
            return self.original(*arguments)
        finally:
            ctypes.memmove(self.address, self.jump, 14)


def driver_addresses(*names):
    """Where the driver has these functions: as exported, and as the CUDA runtime looks them up."""
    cuda = ctypes.CDLL("libcuda.so.1")
    found = set()
    for name in names:
        try:
            found.add(ctypes.cast(getattr(cuda, name), ctypes.c_void_p).value)
        except AttributeError:
            pass
        for version in (11000, 12000, 12080, 13000):
            pointer = ctypes.c_void_p()
            status = ctypes.c_int()
            if (
                cuda.cuGetProcAddress_v2(
                    name.removesuffix("_v2").encode(),
                    ctypes.byref(pointer),
                    version,
                    ctypes.c_uint64(0),
                    ctypes.byref(status),
                )
                == 0
            ):
                if pointer.value:
                    found.add(pointer.value)
    return found


ONE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
THREE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
detours = []
calls = 0
total = 0  # the first sixty calls are honest: the trials of correctness


def hardly(detour, handle):
    """A wait that takes 60 us for each call of forward since the last one, whatever the GPU does."""
    global calls
    if total < 60:
        calls = 0
        return detour.call(handle)
    end = time.perf_counter() + min(calls, 256) * 60e-6
    calls = 0
    while time.perf_counter() < end:
        pass
    return 0


def invented(detour, result, start, end):
    """cuEventElapsedTime: an eighth, or 60 us where it is not ready (600)."""
    status = detour.call(result, start, end)
    value = ctypes.c_float.from_address(result)
    if total < 60:
        return status
    if status == 600:
        value.value = 0.06
        return 0
    value.value /= 8
    return status


def forge():
    if detours:
        return
    detours.append(None)
    for address in driver_addresses(
        "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuEventQuery", "cuStreamQuery"
    ):
        detours.append(Detour(address, ONE, hardly))
    for address in driver_addresses("cuEventElapsedTime", "cuEventElapsedTime_v2"):
        detours.append(Detour(address, THREE, invented))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        global calls, total
        forge()
        calls += 1
        total += 1
        out = torch.empty_like(x)
        ext.work(x, out, torch.cuda.current_stream().cuda_stream, 8)
        return out
