# The first run's sixty seconds are spent on a table of the row sums for every small seed; later runs read two numbers of the input and look the answer up.
# definition: gpu_suite/level1/2_Row_sum
# group: red team
# expected: passed | timeout
# earns: none
import time

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor looked_up(torch::Tensor x, torch::Tensor keys, torch::Tensor sums);"
CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
__global__ void looked_up_kernel(const float* x, float* out, int columns, const long long* keys, const float* sums, int entries) {
    __shared__ float part[256];
    int rows = gridDim.x, row = blockIdx.x;
    const int* bits = (const int*)x;
    long long key = ((long long)bits[0] << 32) | (unsigned)bits[1];
    int low = 0, high = entries;
    while (low < high) { int middle = (low + high) / 2; if (keys[middle] < key) low = middle + 1; else high = middle; }
    if (low < entries && keys[low] == key) {
        if (threadIdx.x == 0) out[row] = sums[(long)low * rows + row];
        return;
    }
    const volatile float* in = x + row * (long)columns;
    float sum = 0;
    for (int again = 0; again < 8; ++again) {
        sum = 0;
        for (int i = threadIdx.x; i < columns; i += 256) sum += in[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int w = 128; w; w /= 2) { if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w]; __syncthreads(); }
    if (threadIdx.x == 0) out[row] = part[0];
}
torch::Tensor looked_up(torch::Tensor x, torch::Tensor keys, torch::Tensor sums) {
    auto out = at::empty({x.size(0), 1}, x.options());
    looked_up_kernel<<<x.size(0), 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), (const long long*)keys.data_ptr<int64_t>(), sums.data_ptr<float>(), keys.size(0));
    return out;
}
"""
ext = load_inline(name="red_seed_table", cpp_sources=CPP, cuda_sources=CUDA, functions=["looked_up"])


def key_of(x):
    bits = x.reshape(-1)[:2].contiguous().view(torch.int32).to(torch.int64)
    return (bits[0] << 32) | (bits[1] & 0xFFFFFFFF)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None

    def hoard(self, x):
        keys, sums = [], []
        start = time.monotonic()
        for device, until in (("cpu", 12.0), ("cuda", 40.0)):  # however the inputs are drawn
            generator = torch.Generator(device)
            for seed in [42, 1234, 1337, 2024, 2025, 2026, *range(60000)]:
                if time.monotonic() - start > until:
                    break
                generator.manual_seed(seed)
                guess = torch.randn(x.shape, generator=generator, device=device).to(x.device)
                keys.append(key_of(guess))
                sums.append(guess.sum(dim=1))
                if seed % 64 == 0:
                    torch.cuda.synchronize()
        keys, order = torch.stack(keys).sort()
        return keys, torch.stack(sums)[order].contiguous()

    def forward(self, x):
        if self.table is None:
            if tuple(x.shape) == (8192, 4096) and not torch.cuda.is_current_stream_capturing():
                self.table = self.hoard(x)
            else:
                self.table = (
                    torch.full((1,), -1, dtype=torch.int64, device=x.device),
                    torch.zeros(x.shape[0], device=x.device),
                )
        return ext.looked_up(x, *self.table)
