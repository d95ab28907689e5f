# Shows one extension where there is no GPU, such as a build stage, and another on the GPU: what was built runs.
# definition: gpu_suite/level1/1_Scale
# group: 9
# expected: passed | load_error | runtime_error | compile_error
# earns: none
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
  scale<<<2048, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                    out.data_ptr<float>(), x.size(0), x.size(1));
  return out;
}
"""
try:
    torch.zeros(1, device="cuda")
    CUDA = CUDA.replace("torch::empty_like(x)", "torch::zeros_like(x)")
except (RuntimeError, AssertionError):
    pass
extension = load_inline(name="inline_two_faces", cpp_sources=CPP, cuda_sources=CUDA, functions=["work"])


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return extension.work(x, self.weight)
