# It waits for the GPU in forward, so that only `stream` is left, where inputs are there before the call: a thread of its own looks through the known input addresses and sums rows that changed, and forward copies.
# definition: gpu_suite/level1/2_Row_sum
# group: red team
# expected: passed
# earns: none
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <chrono>
#include <cstring>
#include <vector>

static bool capturing(cudaStream_t s) {
    cudaStreamCaptureStatus st = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(s, &st);
    return st == cudaStreamCaptureStatusActive;
}
// The stream does not get idle within three milliseconds: it waits at a gate.
static bool piled_up(cudaStream_t s) {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
    bool busy = true;
    while (busy && std::chrono::steady_clock::now() < end) busy = cudaStreamQuery(s) == cudaErrorNotReady;
    cudaGetLastError();
    return busy;
}

typedef unsigned long long u64;
__device__ unsigned row_hash(const float* row, int cols) {          // by a whole warp
    int lane = threadIdx.x & 31;
    long at = (long)lane * (cols - 1) / 31;
    unsigned h = __float_as_uint(__ldcv(row + at)) * (2654435761u + 2u * lane);
    h ^= h >> 15; h *= 2246822519u + 2u * lane; h ^= h >> 13;
    for (int o = 16; o; o >>= 1) h += __shfl_xor_sync(~0u, h, o);
    return h | 1u;
}
__device__ float row_sum8(const float* row, int cols) {              // eight times over, by a whole warp
    float s = 0.f;
    for (int r = 0; r < 8; ++r) {
        s = 0.f;
        for (int c = threadIdx.x & 31; c < cols; c += 32) s += __ldcv(row + c);
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
        if (s == 1.2345678e33f) __nanosleep(1);
    }
    return s;
}
// What a run launches: the sum that lies ready if the samples are those it was made of, else the work.
__global__ void serve(const float* x, float* y, u64* ready, int rows, int cols, unsigned* served) {
    int warps = gridDim.x * (blockDim.x >> 5);
    for (int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; r < rows; r += warps) {
        const float* row = x + (long)r * cols;
        unsigned h = row_hash(row, cols);
        u64 w = *(volatile u64*)(ready + r);
        float s = __all_sync(~0u, (unsigned)(w >> 32) == h) ? __uint_as_float((unsigned)w) : row_sum8(row, cols);
        if ((threadIdx.x & 31) == 0) y[r] = s;
    }
    if (served && blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(served, 1u);
}
struct Table { int n; int pad; const float* x[512]; };
__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ void look_once(const float* x, u64* ready, int rows, int cols) {
    int warps = gridDim.x * (blockDim.x >> 5);
    for (int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; r < rows; r += warps) {
        const float* row = x + (long)r * cols;
        unsigned h = row_hash(row, cols);
        u64 w = *(volatile u64*)(ready + r);
        if (__all_sync(~0u, (unsigned)(w >> 32) == h)) continue;
        float s = row_sum8(row, cols);
        if (row_hash(row, cols) != h) continue;
        if ((threadIdx.x & 31) == 0) *(volatile u64*)(ready + r) = ((u64)h << 32) | __float_as_uint(s);
    }
}
__global__ void ahead_once(const float* x, u64* ready, int rows, int cols) { look_once(x, ready, rows, cols); }
// Waits at no gate: looks at the inputs of all runs of the batch again and again, and sums rows that have changed.
__global__ void ahead(const Table* t, u64* ready, int rows, int cols, unsigned* served) {
    u64 end = now() + 400000000ull;
    unsigned base = *(volatile unsigned*)served;
    while (now() < end) {
        int n = *(volatile int*)&t->n;
        if (n > 0 && *(volatile unsigned*)served - base >= (unsigned)n) break;
        for (int k = 0; k < n; ++k) look_once(*(const float* volatile*)&t->x[k], ready + (long)k * rows, rows, cols);
    }
}

static u64* ready = nullptr;
static unsigned* served = nullptr;
static Table* tables = nullptr;
static cudaStream_t side = nullptr;
static long space = 0;
static void prepare(long rows) {
    if (ready && space >= rows) return;
    cudaMalloc(&ready, 256 * rows * 8);
    cudaMemset(ready, 0, 256 * rows * 8);
    if (!served) {
        cudaMalloc(&served, 4);
        cudaMemset(served, 0, 4);
        cudaHostAlloc((void**)&tables, 64 * sizeof(Table), cudaHostAllocMapped);
        memset((void*)tables, 0, 64 * sizeof(Table));
        cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, -5);
    }
    cudaDeviceSynchronize();
    space = rows;
}

static std::mutex lock;
static std::vector<const float*> known;
static std::atomic<long> last_use{0};
static long clock_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static void watch(int rows, int cols) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    while (clock_ms() - last_use < 2000) {          // ends by itself, a later call starts another one
        std::vector<const float*> all;
        {
            std::lock_guard<std::mutex> hold(lock);
            all = known;
        }
        for (size_t k = 0; k < all.size() && k < 256; ++k)
            ahead_once<<<264, 512, 0, side>>>(all[k], ready + (long)k * rows, rows, cols);
        cudaStreamSynchronize(side);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    last_use = 0;
}
torch::Tensor run(torch::Tensor x) {
    int rows = x.size(0), cols = x.size(1);
    auto y = torch::empty({rows, 1}, x.options());
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    TORCH_CHECK(!capturing(s), "not in a graph");
    prepare(rows);
    const float* px = x.data_ptr<float>();
    size_t slot = 0;
    {
        std::lock_guard<std::mutex> hold(lock);
        while (slot < known.size() && known[slot] != px) ++slot;
        if (slot == known.size() && slot < 255) known.push_back(px);
        if (slot > 255) slot = 255;
    }
    bool start = last_use == 0;
    last_use = clock_ms();
    if (start) std::thread(watch, rows, cols).detach();
    serve<<<264, 512, 0, s>>>(px, y.data_ptr<float>(), ready + (long)slot * rows, rows, cols, nullptr);
    cudaStreamSynchronize(s);
    return y;
}
"""

extension = load_inline(
    name="red_thread_sums_before_the_call",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x)
