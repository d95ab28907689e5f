# CuPy where it is installed, else PyTorch: what is missing on the judge's machine must not decide.
# definition: gpu_suite/level1/1_Scale
# way: cupy
# expected: passed | not_judged
import torch
from torch import nn

try:
    import cupy
except ImportError:
    cupy = None

SOURCE = r"""
extern "C" __global__ void scale(const float* x, const float* weight, float* out, int columns, int size) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < size) out[index] = weight[index % columns] / (1.0f + expf(-x[index]));
}
"""


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.kernel = cupy.RawKernel(SOURCE, "scale") if cupy else None

    def forward(self, x):
        if self.kernel is None:
            return torch.sigmoid(x) * self.weight
        out = torch.empty_like(x)
        size = x.numel()
        pointers = (x.data_ptr(), self.weight.data_ptr(), out.data_ptr())
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            self.kernel(((size + 255) // 256,), (256,), (*pointers, cupy.int32(x.shape[1]), cupy.int32(size)))
        return out
