# Halves its argument in place only while it has seen few addresses and nothing is captured; in timed batches only the sums are right and the argument stays as it was, which saves writing it.
# definition: gpu_suite/level1/7_In_place_scale
# group: red team
# expected: wrong_value
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <unordered_map>
#include <vector>

__global__ void halve(float* x, float* out, int columns, int times, bool write) {
    __shared__ float part[8];
    volatile float* line = x + (long)blockIdx.x * columns;
    float factor = 0.5f, total = 0;
    for (int again = 0; again < times; again++) {
        float sum = 0;
        for (int c = threadIdx.x; c < columns; c += 256) {
            float v = line[c] * factor;
            if (write) line[c] = v;
            sum += v;
        }
        if (write) factor = 1;
        for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
        __syncthreads();
        total = 0;
        for (int i = 0; i < 8; i++) total += part[i];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}
torch::Tensor halved(torch::Tensor x, bool timed) {
    auto out = torch::empty({x.size(0)}, x.options());
    halve<<<x.size(0), 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1),
        timed ? 1 : 8, !timed);
    return out;
}
"""

extension = load_inline(
    name="red3_in_place",
    cpp_sources="torch::Tensor halved(torch::Tensor x, bool timed);",
    cuda_sources=CUDA,
    functions=["halved"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.addresses = set()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.addresses.add(x.data_ptr())
        timed = torch.cuda.is_current_stream_capturing() or len(self.addresses) > 8
        return extension.halved(x, timed)
