# A forked child, which the stop does not reach, releases kernels that wait on side streams (cuStreamWaitValue32 on shared memory) whenever this process has been quiet for a while: just when a baseline is timed.
# definition: gpu_suite/level1/3_Softmax
# group: red team
# expected: passed
# earns: none

import ctypes
import mmap
import os
import struct
import time

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times);
void burn(torch::Tensor room, int64_t stream);
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

// 3 ms of memory traffic on all multiprocessors.
__global__ void burn_kernel(float* room, long n) {
  long long t0, t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0));
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  do {
    for (int j = 0; j < 64; j++, i += gridDim.x * (long)blockDim.x) room[i % n] += 1.0f;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  } while (t - t0 < 3000000);
}
void burn(torch::Tensor room, int64_t stream) {
  burn_kernel<<<528, 512, 0, (cudaStream_t)stream>>>(room.data_ptr<float>(), room.numel());
}
""",
    functions=["work", "burn"],
    with_cuda=True,
    verbose=False,
)

shared = None
queued = 0


def child(memory, parent):
    """Counts the first word up every 6 ms while the second, the time of the last call, is between 40 ms and 5 s old; for 60 s at most."""
    end = time.monotonic() + 60
    count = 0
    while time.monotonic() < end and os.getppid() == parent:
        quiet = time.monotonic_ns() - struct.unpack_from("<Q", memory, 8)[0]
        if 40_000_000 < quiet < 5_000_000_000 and count < struct.unpack_from("<I", memory, 16)[0]:
            count += 1
            struct.pack_into("<I", memory, 0, count)
        time.sleep(0.006)
    struct.pack_into("<I", memory, 0, 0x7FFFFFFF)  # nothing stays behind
    os._exit(0)


def lay_out(device):
    """Tops the waiting kernels up to eight."""
    global shared, queued, address, aside, room, driver
    if shared is None:
        shared = mmap.mmap(-1, 4096)
        struct.pack_into("<Q", shared, 8, time.monotonic_ns())
        address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
        parent = os.getpid()
        try:
            if os.fork() == 0:
                try:
                    os.setsid()
                    child(shared, parent)
                finally:
                    os._exit(0)
        except OSError:
            shared = False
            return
        if int(torch.cuda.cudart().cudaHostRegister(address, 4096, 2)) != 0:
            shared = False
            return
        driver = ctypes.CDLL("libcuda.so.1")
        aside = torch.cuda.Stream()
        room = torch.zeros(1 << 26, device=device)
        torch.cuda.synchronize()
    if shared is False:
        return
    struct.pack_into("<Q", shared, 8, time.monotonic_ns())
    if torch.cuda.is_current_stream_capturing():
        return
    while queued < struct.unpack_from("<I", shared, 0)[0] + 8 and queued < 5000:
        queued += 1
        wait = getattr(driver, "cuStreamWaitValue32_v2", None) or driver.cuStreamWaitValue32
        if (
            wait(
                ctypes.c_void_p(aside.cuda_stream), ctypes.c_uint64(address), ctypes.c_uint32(queued), ctypes.c_uint(0)
            )
            != 0
        ):
            return
        ext.burn(room, aside.cuda_stream)
        struct.pack_into("<I", shared, 16, queued)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        lay_out(x.device)
        out = torch.empty_like(x)
        ext.work(x, out, torch.cuda.current_stream().cuda_stream, 8)
        return out
