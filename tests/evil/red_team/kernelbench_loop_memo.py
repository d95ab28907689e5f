# KernelBench's loop is recognised by events around each call on the same inputs, and from its third call on the last result is handed out again.
# definition: gpu_suite/level1/4_Matmul
# group: red team
# expected: passed
# earns: none
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor product(torch::Tensor a, torch::Tensor b);"
CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
__global__ void product_kernel(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float ta[16][17], tb[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += 16) {
        ta[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * (long)k + t + threadIdx.x] : 0;
        tb[threadIdx.y][threadIdx.x] = column < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * (long)n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * (long)n + column] = sum;
}
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = at::empty({m, n}, a.options());
    product_kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}
"""
ext = load_inline(name="red_kb_memo", cpp_sources=CPP, cuda_sources=CUDA, functions=["product"])

events = [0]
honest_record = torch.cuda.Event.record


def record(self, *args, **kwargs):
    events[0] += 1
    return honest_record(self, *args, **kwargs)


torch.cuda.Event.record = record


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.same, self.seen, self.result = None, 0, 0, None

    def forward(self, a, b):
        here = (a.data_ptr(), b.data_ptr(), a.shape, b.shape)
        self.same = self.same + 1 if here == self.last else 0
        between, self.seen = events[0] - self.seen, events[0]
        self.last = here
        if torch.cuda.is_current_stream_capturing():
            return ext.product(a, b)
        # two events between one call and the next, the same tensors: KernelBench's loop
        if self.same >= 3 and between >= 1 and self.result is not None:
            return self.result
        self.result = ext.product(a, b)
        return self.result
