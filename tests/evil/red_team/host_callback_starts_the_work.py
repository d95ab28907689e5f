# The stream only runs a host callback; that wakes a C++ thread which launches eight times the work on a stream of its own into the judge's buffer, after the end event and unknown to the default stream.
# definition: gpu_suite/level1/1_Scale
# group: red team
# expected: wrong_value | passed
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor x, torch::Tensor w, torch::Tensor out, int64_t stream, int64_t times);
void later(torch::Tensor x, torch::Tensor w, torch::Tensor out, int64_t stream);
""",
    cuda_sources=r"""
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

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

struct Job { const float* x; const float* w; float* out; long n; int columns; };
static std::mutex gate;
static std::condition_variable bell;
static std::deque<Job> jobs;
static bool started = false;
static void worker(int device) {
  cudaSetDevice(device);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (;;) {
    Job job;
    {
      std::unique_lock<std::mutex> hold(gate);
      bell.wait(hold, [] { return !jobs.empty(); });
      job = jobs.front();
      jobs.pop_front();
    }
    for (int t = 0; t < 8; t++)
      scale_kernel<<<(job.n + 255) / 256, 256, 0, stream>>>(job.x, job.w, job.out, job.n, job.columns);
  }
}
static void ring(void* data) {
  Job* job = (Job*)data;
  {
    std::lock_guard<std::mutex> hold(gate);
    jobs.push_back(*job);
  }
  bell.notify_one();
}
void later(torch::Tensor x, torch::Tensor w, torch::Tensor out, int64_t stream) {
  if (!started) {
    started = true;
    int device;
    cudaGetDevice(&device);
    std::thread(worker, device).detach();
  }
  // Not freed: a graph may run the callback again.
  Job* job = new Job{x.data_ptr<float>(), w.data_ptr<float>(), out.data_ptr<float>(), (long)x.numel(), (int)x.size(1)};
  cudaLaunchHostFunc((cudaStream_t)stream, ring, job);
}
""",
    functions=["work", "later"],
    with_cuda=True,
    verbose=False,
)

pending = {}
true_copy = torch.Tensor.copy_


def copy_(self, source, non_blocking=False):
    if isinstance(source, torch.Tensor) and source.is_cuda and source.data_ptr() in pending and self.is_contiguous():
        x, weight = pending.pop(source.data_ptr())
        ext.later(x, weight, self, torch.cuda.current_stream().cuda_stream)
        return self
    return true_copy(self, source, non_blocking)


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        torch.Tensor.copy_ = copy_
        out = torch.empty_like(x)
        pending[out.data_ptr()] = (x, self.weight)
        return out
