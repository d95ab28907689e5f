# The first run searches 2^38 seeds on the GPU for the one that drew its input, then prepares the row sums of the seeds that follow it, which later runs look up.
# definition: gpu_suite/level1/2_Row_sum
# group: red team
# expected: passed
# earns: none
import time

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor looked_up(torch::Tensor x, torch::Tensor keys, torch::Tensor sums);
void search(torch::Tensor x, torch::Tensor found, int64_t first, int64_t count);
"""
CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
__device__ float first_of(unsigned long long seed, unsigned long long thread) {
    // Philox4x32-10 and Box-Muller as cuRAND has them
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    unsigned c0 = 0, c1 = 0, c2 = (unsigned)thread, c3 = (unsigned)(thread >> 32);
    #pragma unroll
    for (int round = 0; round < 10; ++round) {
        unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    float u = c0 * 2.3283064e-10f + 1.1641532e-10f, v = c1 * 1.46291807e-9f + 7.3145904e-10f;
    return sqrtf(-2.0f * logf(u)) * sinf(v);
}
__global__ void search_kernel(const float* x, unsigned long long* found, unsigned long long first, unsigned long long count) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    float wanted = x[0];
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count; i += stride)
        if (fabsf(first_of(first + i, 0) - wanted) < 1e-6f && fabsf(first_of(first + i, 1) - x[1]) < 1e-5f && fabsf(first_of(first + i, 2) - x[2]) < 1e-5f)
            atomicMin(found, first + i);
}
void search(torch::Tensor x, torch::Tensor found, int64_t first, int64_t count) {
    search_kernel<<<132 * 8, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), (unsigned long long*)found.data_ptr<int64_t>(), first, count);
}
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
ext = load_inline(name="red_seed_search", cpp_sources=CPP, cuda_sources=CUDA, functions=["looked_up", "search"])


def key_of(x):
    bits = x.reshape(-1)[:2].contiguous().view(torch.int32).to(torch.int64)
    return (bits[0] << 32) | (bits[1] & 0xFFFFFFFF)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None

    def hoard(self, x):
        start = time.monotonic()
        nothing = 2**63 - 1
        found = torch.full((1,), nothing, dtype=torch.int64, device=x.device)
        for chunk in range(64):
            ext.search(x, found, chunk << 32, 1 << 32)
            if found.item() != nothing or time.monotonic() - start > 25:
                break
        if found.item() == nothing:
            return None
        generator = torch.Generator("cuda")
        keys, sums = [], []
        for seed in range(max(found.item() - 8, 0), found.item() + 20000):
            if time.monotonic() - start > 40:
                break
            generator.manual_seed(seed)
            guess = torch.randn(x.shape, generator=generator, device=x.device)
            keys.append(key_of(guess))
            sums.append(guess.sum(dim=1))
            if seed % 64 == 0:
                torch.cuda.synchronize()
        keys, order = torch.stack(keys).sort()
        return keys, torch.stack(sums)[order].contiguous()

    def forward(self, x):
        if self.table is None:
            if x.shape[0] == 8192 and not torch.cuda.is_current_stream_capturing():
                self.table = self.hoard(x)
            if self.table is None:
                self.table = (
                    torch.full((1,), -1, dtype=torch.int64, device=x.device),
                    torch.zeros(x.shape[0], device=x.device),
                )
        return ext.looked_up(x, *self.table)
