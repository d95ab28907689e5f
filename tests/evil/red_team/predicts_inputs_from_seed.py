# Takes the seeds that it finds in its own process, draws inputs from them as the problem does, and keeps their sums on the device before the real inputs come; a run whose 256 words are known copies the sums.
# definition: gpu_suite/level1/2_Row_sum
# group: red team
# expected: passed
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

constexpr int SLOTS = 1024, WORDS = 256, MAXROWS = 8192;
struct Cache {
    unsigned words[SLOTS][WORDS];
    float results[SLOTS][MAXROWS];
    unsigned before[SLOTS];
    unsigned go[SLOTS];
    int valid[SLOTS];
    int early[SLOTS];
    int hit[SLOTS];
};
static Cache* cache() {
    static Cache* c = [] {
        Cache* p = nullptr;
        cudaMalloc(&p, sizeof(Cache));
        cudaMemset(p, 0, sizeof(Cache));
        cudaDeviceSynchronize();
        return p;
    }();
    return c;
}
static int slot_of(const void* address) {
    static std::unordered_map<const void*, int> slots;
    auto it = slots.find(address);
    if (it != slots.end()) return it->second;
    int next = int(slots.size());
    if (next >= SLOTS) return -1;
    slots[address] = next;
    return next;
}
__device__ __forceinline__ unsigned sample(const float* x, long n, int i) {
    return ((volatile const unsigned*)x)[(long)(((double)n - 1) * i / (WORDS - 1))];
}
// The sum of one row by one block; the row is read eight times.
__device__ float row_sum(const float* x, long row, int columns) {
    __shared__ float part[8];
    float total = 0;
    for (int again = 0; again < 8; again++) {
        float sum = 0;
        volatile const float* line = x + row * columns;
        for (int c = threadIdx.x; c < columns; c += 256) sum += line[c];
        for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
        __syncthreads();
        total = 0;
        for (int w = 0; w < 8; w++) total += part[w];
        __syncthreads();
    }
    return total;
}
__global__ void plain(const float* x, float* out, int rows, int columns) {
    for (long row = blockIdx.x; row < rows; row += gridDim.x) {
        float s = row_sum(x, row, columns);
        if (threadIdx.x == 0) out[row] = s;
    }
}
// hit = the words seen at 256 places are those that the kept sums belong to.
__global__ void check(const float* x, long n, Cache* c, int slot) {
    int same = c->valid[slot] && c->words[slot][threadIdx.x] == sample(x, n, threadIdx.x);
    same = __syncthreads_and(same);
    if (threadIdx.x == 0) c->hit[slot] = same;
}
__global__ void answer(const float* x, float* out, int rows, int columns, Cache* c, int slot) {
    if (c->hit[slot]) {
        int i = blockIdx.x * 256 + threadIdx.x;
        if (i < rows) out[i] = c->results[slot][i];
        return;
    }
    for (long row = blockIdx.x; row < rows; row += gridDim.x) {
        float s = row_sum(x, row, columns);
        if (threadIdx.x == 0) out[row] = s;
    }
}

constexpr int KNOWN = 16;
struct Store { unsigned words[KNOWN][WORDS]; float results[KNOWN][MAXROWS]; int rows[KNOWN]; int hit; };
static Store* store() {
    static Store* p = [] {
        Store* q = nullptr;
        cudaMalloc(&q, sizeof(Store));
        cudaMemset(q, 0, sizeof(Store));
        cudaDeviceSynchronize();
        return q;
    }();
    return p;
}
__global__ void keep(const float* x, int rows, int columns, Store* s, int slot) {
    for (long row = blockIdx.x; row < rows; row += gridDim.x) {
        float v = row_sum(x, row, columns);
        if (threadIdx.x == 0) s->results[slot][row] = v;
    }
    if (blockIdx.x == 0) {
        s->words[slot][threadIdx.x] = sample(x, (long)rows * columns, threadIdx.x);
        s->rows[slot] = rows;
    }
}
__global__ void find(const float* x, int rows, int columns, Store* s) {
    unsigned word = sample(x, (long)rows * columns, threadIdx.x);
    int hit = -1;
    for (int i = 0; i < KNOWN; i++)
        if (__syncthreads_and(s->rows[i] == rows && s->words[i][threadIdx.x] == word)) hit = i;
    if (threadIdx.x == 0) s->hit = hit;
}
__global__ void give(const float* x, float* out, int rows, int columns, Store* s) {
    int hit = s->hit;
    if (hit >= 0) {
        int i = blockIdx.x * 256 + threadIdx.x;
        if (i < rows) out[i] = s->results[hit][i];
        return;
    }
    for (long row = blockIdx.x; row < rows; row += gridDim.x) {
        float v = row_sum(x, row, columns);
        if (threadIdx.x == 0) out[row] = v;
    }
}
void learn(torch::Tensor x, int64_t slot) {
    if (x.size(0) > MAXROWS) return;
    keep<<<2112, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.size(0), x.size(1), store(), slot % KNOWN);
}
torch::Tensor row_sums(torch::Tensor x) {
    auto out = torch::empty({x.size(0), 1}, x.options());
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    find<<<1, WORDS, 0, s>>>(x.data_ptr<float>(), x.size(0), x.size(1), store());
    give<<<2112, 256, 0, s>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), x.size(1), store());
    return out;
}
"""

extension = load_inline(
    name="red3_seed",
    cpp_sources="void learn(torch::Tensor x, int64_t slot);\ntorch::Tensor row_sums(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["learn", "row_sums"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seed_of_constructor = torch.initial_seed()
        self.state_of_constructor = torch.get_rng_state()
        self.tried = set()
        self.learned = 0

    def predict(self, x: torch.Tensor) -> None:
        found = [("cpu", self.seed_of_constructor), ("cpu", torch.initial_seed()), ("cuda", torch.cuda.initial_seed())]
        found += [(place, seed + 1) for place, seed in found]
        for place, seed in found:
            key = place, seed, tuple(x.shape)
            if key in self.tried or len(self.tried) >= 16:
                continue
            self.tried.add(key)
            chance = torch.Generator(device=place).manual_seed(seed)
            drawn = torch.randn(tuple(x.shape), generator=chance, device=place).to(x.device)
            extension.learn(drawn, self.learned)
            self.learned += 1
        key = "state", tuple(x.shape)
        if key not in self.tried and len(self.tried) < 16:
            self.tried.add(key)
            chance = torch.Generator()
            chance.set_state(self.state_of_constructor)
            extension.learn(torch.randn(tuple(x.shape), generator=chance).to(x.device), self.learned)
            self.learned += 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.cuda.is_current_stream_capturing():
            self.predict(x)
        return extension.row_sums(x.contiguous())
