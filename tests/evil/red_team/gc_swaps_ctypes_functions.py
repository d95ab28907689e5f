# Walks the garbage collector's objects and its callers' frames for loaded ctypes libraries and for bound clock functions, and puts a function that tells less in each place.
# definition: gpu_suite/level1/2_Row_sum
# group: red team
# expected: passed
# earns: none

import ctypes
import gc
import sys
import types

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times);
""",
    cuda_sources=r"""
__global__ void sum_kernel(const float* x, float* out, int columns) {
  __shared__ float part[256];
  const float* row = x + (long)blockIdx.x * columns;
  float s = 0;
  for (int c = threadIdx.x; c < columns; c += 256) s += row[c];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int h = 128; h; h /= 2) {
    if (threadIdx.x < h) part[threadIdx.x] += part[threadIdx.x + h];
    __syncthreads();
  }
  if (!threadIdx.x) out[blockIdx.x] = part[0];
}
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times) {
  for (int64_t t = 0; t < times; t++)
    sum_kernel<<<x.size(0), 256, 0, (cudaStream_t)stream>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
}
""",
    functions=["work"],
    with_cuda=True,
    verbose=False,
)

NAMES = ("cuEventElapsedTime", "cuEventElapsedTime_v2", "cudaEventElapsedTime")


class Told:
    """Stands in for a ctypes function that writes milliseconds through its first argument."""

    def __init__(self, function):
        self.__dict__["function"] = function

    def __call__(self, result, *others):
        status = self.function(result, *others)
        target = getattr(result, "_obj", None) or getattr(result, "contents", None) or result
        if hasattr(target, "value") and isinstance(target.value, float):
            target.value /= 8
        return status

    def __getattr__(self, name):
        return getattr(self.function, name)

    def __setattr__(self, name, value):
        setattr(self.function, name, value)


def swap(space):
    """Replaces what a dictionary or a list holds of clock functions."""
    for key, value in list(space.items() if isinstance(space, dict) else enumerate(space)):
        if getattr(value, "__name__", None) in NAMES and callable(value) and not isinstance(value, Told):
            try:
                space[key] = Told(value)
            except TypeError:
                pass


done = False


def forge():
    global done
    if done:
        return
    done = True
    for thing in gc.get_objects():
        try:
            if isinstance(thing, ctypes.CDLL):
                for name in NAMES:
                    try:
                        setattr(thing, name, Told(getattr(thing, name)))
                    except AttributeError:
                        pass
            elif type(thing) in (dict, list):
                swap(thing)
            elif isinstance(thing, types.FunctionType) and thing.__closure__:
                for cell in thing.__closure__:
                    if getattr(cell.cell_contents, "__name__", None) in NAMES:
                        cell.cell_contents = Told(cell.cell_contents)
        except Exception:
            continue
    frame = sys._getframe()
    while frame:
        swap(frame.f_globals)
        frame = frame.f_back


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        forge()
        out = x.new_empty(x.shape[0], 1)
        ext.work(x, out, torch.cuda.current_stream().cuda_stream, 8)
        return out
