# torch.Tensor.copy_ is replaced: where the runner copies the result into the judge's buffer, eight times the work and the copy begin on a side stream that the default stream never waits for.
# definition: gpu_suite/level1/1_Scale
# group: red team
# expected: passed
# earns: none

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
aside = None
true_copy = torch.Tensor.copy_
true_foreach = torch._foreach_copy_


def late(target, source):
    """Does the work that belongs to a result, and copies it, where no clock looks."""
    x, weight = pending.pop(source.data_ptr())
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        ext.work(x, weight, source, aside.cuda_stream, 8)
        true_copy(target, source)
    source.record_stream(aside)
    return target


def copy_(self, source, non_blocking=False):
    if isinstance(source, torch.Tensor) and source.is_cuda and source.data_ptr() in pending:
        return late(self, source)
    return true_copy(self, source, non_blocking)


def foreach_copy_(targets, sources, *others, **named):
    for target, source in zip(targets, sources):
        copy_(target, source)


def prepare():
    global aside
    if aside is None:
        aside = torch.cuda.Stream()
        torch.Tensor.copy_ = copy_
        torch._foreach_copy_ = foreach_copy_


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        prepare()
        out = torch.empty_like(x)
        pending[out.data_ptr()] = (x, self.weight)
        return out
