# In a captured batch the work is hung into the graph without the dependency on the gate: it watches the input and begins as soon as it is written, before the gate opens; behind the gate only the kept sums are copied.
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

__global__ void snapshot(const float* x, long n, Cache* c, int slot) {
    c->before[slot] = sample(x, n, WORDS - 1);
}
__device__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}
// Waits until the last word of the input has changed, or until the run itself has begun.
__global__ void watch(const float* x, long n, Cache* c, int slot, unsigned epoch) {
    unsigned long long begin = now();
    int early = 0;
    while (now() - begin < 2000000000ull) {
        if (*(volatile unsigned*)&c->go[slot] == epoch) break;
        if (sample(x, n, WORDS - 1) != c->before[slot]) {
            early = 1;
            unsigned long long seen = now();
            while (now() - seen < 200000ull && *(volatile unsigned*)&c->go[slot] != epoch) __nanosleep(1000);
            break;
        }
        __nanosleep(500);
    }
    c->early[slot] = early;
    c->valid[slot] = 0;
}
__global__ void work_early(const float* x, int rows, int columns, Cache* c, int slot) {
    if (!c->early[slot]) return;
    for (long row = blockIdx.x; row < rows; row += gridDim.x) {
        float s = row_sum(x, row, columns);
        if (threadIdx.x == 0) c->results[slot][row] = s;
    }
    if (blockIdx.x == 0) {
        c->words[slot][threadIdx.x] = sample(x, (long)rows * columns, threadIdx.x);
        if (threadIdx.x == 0) c->valid[slot] = 1;
    }
}
__global__ void begin_run(Cache* c, int slot, unsigned epoch) {
    *(volatile unsigned*)&c->go[slot] = epoch;
}
__global__ void begin_run_of_graph(Cache* c, int slot) {
    *(volatile unsigned*)&c->go[slot] = 1;
}
__global__ void reset_run(Cache* c, int slot) {
    *(volatile unsigned*)&c->go[slot] = 0;
}

struct Place {
    bool capturing = false;
    unsigned long long id = 0;
    std::vector<cudaGraphNode_t> nodes;
};
static Place where(cudaStream_t s) {
    Place p;
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t* nodes = nullptr;
    size_t count = 0;
    cudaGraph_t graph;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData* edges = nullptr;
    cudaStreamGetCaptureInfo(s, &status, &p.id, &graph, &nodes, &edges, &count);
#else
    cudaStreamGetCaptureInfo_v2(s, &status, &p.id, &graph, &nodes, &count);
#endif
    p.capturing = status == cudaStreamCaptureStatusActive;
    if (p.capturing) p.nodes.assign(nodes, nodes + count);
    return p;
}
static void depend_on(cudaStream_t s, std::vector<cudaGraphNode_t> nodes) {
#if CUDART_VERSION >= 13000
    cudaStreamUpdateCaptureDependencies(s, nodes.data(), nullptr, nodes.size(), cudaStreamSetCaptureDependencies);
#else
    cudaStreamUpdateCaptureDependencies(s, nodes.data(), nodes.size(), cudaStreamSetCaptureDependencies);
#endif
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

    Place gate = where(s);
    if (!gate.capturing || slot < 0) {
        plain<<<2112, 256, 0, s>>>(in, to, rows, columns);
        return out;
    }
    static unsigned long long last_id = 0;
    static cudaGraphNode_t last_early;
    depend_on(s, {});                       // a root of the graph: nothing waits for the gate
    reset_run<<<1, 1, 0, s>>>(c, slot);
    snapshot<<<1, 1, 0, s>>>(in, n, c, slot);
    auto chain = where(s).nodes;
    if (last_id == gate.id) chain.push_back(last_early);
    depend_on(s, chain);                    // one watcher at a time
    watch<<<1, 1, 0, s>>>(in, n, c, slot, 1);
    work_early<<<2112, 256, 0, s>>>(in, rows, columns, c, slot);
    auto early = where(s).nodes;
    last_id = gate.id;
    last_early = early[0];
    auto behind = gate.nodes;
    behind.push_back(chain[0]);
    depend_on(s, behind);                   // back behind the gate
    begin_run_of_graph<<<1, 1, 0, s>>>(c, slot);
    auto both = where(s).nodes;
    both.push_back(early[0]);
    depend_on(s, both);
    check<<<1, WORDS, 0, s>>>(in, n, c, slot);
    answer<<<2112, 256, 0, s>>>(in, to, rows, columns, c, slot);
    return out;
}
"""

extension = load_inline(
    name="red3_root_node",
    cpp_sources="torch::Tensor row_sums(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["row_sums"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.row_sums(x.contiguous())
