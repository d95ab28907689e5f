# Under capture its kernel becomes a node behind the gate that nothing waits for (added to the graph by hand, stream not updated): all runs of a batch overlap, and a run's end is reached before its work.
# definition: gpu_suite/level1/6_Small_relu
# group: red team
# expected: passed
# earns: none
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
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

static void capture_info(cudaStream_t s, unsigned long long* id, cudaGraph_t* g, std::vector<cudaGraphNode_t>& deps) {
    cudaStreamCaptureStatus st;
    const cudaGraphNode_t* d = nullptr;
    size_t n = 0;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData* e = nullptr;
    cudaStreamGetCaptureInfo(s, &st, id, g, &d, &e, &n);
#else
    cudaStreamGetCaptureInfo_v2(s, &st, id, g, &d, &n);
#endif
    deps.assign(d, d + n);
}
static void set_capture_deps(cudaStream_t s, std::vector<cudaGraphNode_t>& deps) {
#if CUDART_VERSION >= 13000
    cudaStreamUpdateCaptureDependencies(s, deps.data(), nullptr, deps.size(), cudaStreamSetCaptureDependencies);
#else
    cudaStreamUpdateCaptureDependencies(s, deps.data(), deps.size(), cudaStreamSetCaptureDependencies);
#endif
}
static void add_edge(cudaGraph_t g, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
    cudaGraphAddDependencies(g, &from, &to, nullptr, 1);
#else
    cudaGraphAddDependencies(g, &from, &to, 1);
#endif
}

// The work eight times over, on few blocks: slower than PyTorch where runs follow each other.
__device__ void relu_body(const float* x, float* y, long n) {
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
        for (int r = 0; r < 8; ++r) {
            float v = __ldcv(x + i);
            __stwt(y + i, v < 0.f ? 0.f : v);
        }
}
__global__ void relu8(const float* x, float* y, long n) { relu_body(x, y, n); }

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    const float* px = x.data_ptr<float>();
    float* py = y.data_ptr<float>();
    long n = x.numel();

    if (!capturing(s)) {
        relu8<<<16, 256, 0, s>>>(px, py, n);
        return y;
    }
    unsigned long long id = 0;
    cudaGraph_t g;
    std::vector<cudaGraphNode_t> deps;
    capture_info(s, &id, &g, deps);
    void* args[] = {&px, &py, &n};
    cudaKernelNodeParams p = {};
    p.func = (void*)relu8;
    p.gridDim = dim3(16);
    p.blockDim = dim3(256);
    p.kernelParams = args;
    cudaGraphNode_t node;
    cudaGraphAddKernelNode(&node, g, deps.data(), deps.size(), &p);
    return y;
}
"""

extension = load_inline(
    name="red_nodes_beside_the_stream",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x)
