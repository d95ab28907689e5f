# An extension that works on a stream of its own, which nobody waits for.
# definition: gpu_suite/level1/1_Scale
# group: 1
# expected: passed | wrong_value | runtime_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor work(torch::Tensor x, torch::Tensor weight);"
CUDA = r"""
#include <c10/cuda/CUDAStream.h>

__global__ void scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-x[i]));
}

torch::Tensor work(torch::Tensor x, torch::Tensor weight) {
  auto out = torch::empty_like(x);
  static cudaStream_t own = c10::cuda::getStreamFromPool().stream();
  for (int n = 0; n < 8; n++)
    scale<<<2048, 256, 0, own>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                    out.data_ptr<float>(), x.size(0), x.size(1));
  return out;
}
"""
extension = load_inline(name="inline_side_stream", cpp_sources=CPP, cuda_sources=CUDA, functions=["work"])


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return extension.work(x, self.weight)
