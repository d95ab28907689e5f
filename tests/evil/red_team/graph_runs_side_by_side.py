# In a captured batch the dependencies are set back to the gate after each kernel, so that no run waits for the one before and runs overlap; a run is joined 32 runs later.
# definition: gpu_suite/level1/6_Small_relu
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
#include <deque>

__global__ void relu(const float* x, float* out, int n) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        for (int again = 0; again < 8; again++) {
            float v = ((volatile const float*)x)[i];
            ((volatile float*)out)[i] = v > 0 || v != v ? v : 0.f;
        }
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

torch::Tensor apply_relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    Place gate = where(s);
    relu<<<256, 256, 0, s>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    if (!gate.capturing) return out;
    static unsigned long long id = 0;
    static std::deque<cudaGraphNode_t> open;
    if (id != gate.id) {
        id = gate.id;
        open.clear();
    }
    if (gate.nodes.empty()) return out;
    open.push_back(where(s).nodes[0]);
    auto next = gate.nodes;
    if (open.size() > 32) {
        next.push_back(open.front());
        open.pop_front();
    }
    depend_on(s, next);
    return out;
}
"""

extension = load_inline(
    name="red3_side_by_side",
    cpp_sources="torch::Tensor apply_relu(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["apply_relu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.apply_relu(x.contiguous())
