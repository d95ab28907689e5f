# A thread of the extension looks at all known input addresses on a stream of its own and sums what has changed, before forward or a replay is asked for; the asked-for run copies the kept sums.
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
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

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

__global__ void notice(const float* x, long n, Cache* c, int slot) {
    int same = c->valid[slot] && c->words[slot][threadIdx.x] == sample(x, n, threadIdx.x);
    same = __syncthreads_and(same);
    if (threadIdx.x == 0) {
        c->early[slot] = !same;
        if (!same) c->valid[slot] = 0;
    }
    if (!same) c->words[slot][threadIdx.x] = sample(x, n, threadIdx.x);
}
__global__ void sum_changed(const float* x, int rows, int columns, Cache* c, int slot) {
    if (!c->early[slot]) return;
    for (long row = blockIdx.x; row < rows; row += gridDim.x) {
        float s = row_sum(x, row, columns);
        if (threadIdx.x == 0) c->results[slot][row] = s;
    }
}
__global__ void settle(const float* x, long n, Cache* c, int slot) {
    if (!c->early[slot]) return;
    int same = __syncthreads_and(c->words[slot][threadIdx.x] == sample(x, n, threadIdx.x));
    if (threadIdx.x == 0) c->valid[slot] = same;
}
struct Known { const float* x; int rows, columns, slot; };
static std::mutex lock;
static std::vector<Known> known;
static void watch_all(int device) {
    cudaSetDevice(device);
    auto mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < until) {
        std::vector<Known> all;
        {
            std::lock_guard<std::mutex> hold(lock);
            all = known;
        }
        for (auto& k : all) {
            long n = (long)k.rows * k.columns;
            notice<<<1, WORDS, 0, own>>>(k.x, n, cache(), k.slot);
            sum_changed<<<2112, 256, 0, own>>>(k.x, k.rows, k.columns, cache(), k.slot);
            settle<<<1, WORDS, 0, own>>>(k.x, n, cache(), k.slot);
        }
        while (cudaStreamQuery(own) == cudaErrorNotReady) std::this_thread::sleep_for(std::chrono::microseconds(20));
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}
torch::Tensor row_sums(torch::Tensor x) {

    auto out = torch::empty({x.size(0), 1}, x.options());
    int rows = x.size(0), columns = x.size(1);
    long n = (long)rows * columns;
    const float* in = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    int slot = rows <= MAXROWS ? slot_of(in) : -1;
    Cache* c = cache();

    if (slot < 0) {
        plain<<<2112, 256, 0, s>>>(in, to, rows, columns);
        return out;
    }
    {
        std::lock_guard<std::mutex> hold(lock);
        bool there = false;
        for (auto& k : known) there = there || k.x == in;
        if (!there) known.push_back({in, rows, columns, slot});
        static bool started = false;
        if (!started) {
            started = true;
            std::thread(watch_all, int(x.get_device())).detach();
        }
    }
    check<<<1, WORDS, 0, s>>>(in, n, c, slot);
    answer<<<2112, 256, 0, s>>>(in, to, rows, columns, c, slot);
    return out;
}
"""

extension = load_inline(
    name="red3_watcher",
    cpp_sources="torch::Tensor row_sums(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["row_sums"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.row_sums(x.contiguous())
