# A forked child sends SIGCONT to this process all the time, so that the stop after the answer lasts microseconds; a thread then does the work and writes the judge's buffer, whose address the replaced copy_ has seen.
# definition: gpu_suite/level1/1_Scale
# group: red team
# expected: wrong_value | passed
# earns: none

import os
import queue
import signal
import threading
import time

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor x, torch::Tensor w, torch::Tensor out, int64_t stream, int64_t times);
""",
    cuda_sources=r"""
__global__ void scale_kernel(const float* x, const float* w, float* out, long n, int columns) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = w[i % columns] / (1.0f + expf(-x[i]));
}
void work(torch::Tensor x, torch::Tensor w, torch::Tensor out, int64_t stream, int64_t times) {
  long n = x.numel();
  for (int64_t t = 0; t < times; t++)
    scale_kernel<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), out.data_ptr<float>(), n, (int)x.size(1));
}
""",
    functions=["work"],
    with_cuda=True,
    verbose=False,
)

pending = {}
jobs = queue.SimpleQueue()
ready = False
true_copy = torch.Tensor.copy_


def wake(parent):
    """The child: continues its parent for 60 s at most, as long as it lives."""
    end = time.monotonic() + 60
    while time.monotonic() < end and os.getppid() == parent:
        os.kill(parent, signal.SIGCONT)
        time.sleep(2e-5)
    os._exit(0)


def worker(device):
    """Works 300 us after the answer."""
    torch.cuda.set_device(device)
    stream = torch.cuda.Stream()
    while True:
        event, target, x, weight = jobs.get()
        time.sleep(3e-4)
        with torch.no_grad(), torch.cuda.stream(stream):
            stream.wait_event(event)
            ext.work(x, weight, target, stream.cuda_stream, 8)


def copy_(self, source, non_blocking=False):
    if isinstance(source, torch.Tensor) and source.is_cuda and source.data_ptr() in pending and self.is_contiguous():
        x, weight = pending.pop(source.data_ptr())
        event = torch.cuda.Event()
        event.record()
        jobs.put((event, self, x, weight))
        return self
    return true_copy(self, source, non_blocking)


def prepare(device):
    global ready
    if ready:
        return
    ready = True
    parent = os.getpid()
    try:
        if os.fork() == 0:
            try:
                os.setsid()
                wake(parent)
            finally:
                os._exit(0)
    except OSError:
        pass
    threading.Thread(target=worker, args=(device,), daemon=True).start()
    torch.Tensor.copy_ = copy_


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("not in a graph")
        prepare(x.device)
        out = torch.empty_like(x)
        pending[out.data_ptr()] = (x, self.weight)
        return out
