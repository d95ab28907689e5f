# A CuPy RawKernel, on PyTorch's stream.
# definition: gpu_suite/level1/1_Scale
# way: cupy
# expected: passed | not_judged
import cupy
import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void scale(const float* x, const float* weight, float* out, int columns, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = weight[index % columns] / (1.0f + expf(-x[index]));
}
"""

kernel = cupy.RawKernel(SOURCE, "scale")


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        out = torch.empty_like(x)
        size = x.numel()
        pointers = (x.data_ptr(), self.weight.data_ptr(), out.data_ptr())
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            kernel(((size + 255) // 256,), (256,), (*pointers, cupy.int32(x.shape[1]), cupy.int32(size)))
        return out
