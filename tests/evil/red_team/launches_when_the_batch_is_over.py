# Behind a gate forward launches nothing and only remembers its tensors; a thread of its own that wakes after the batch sees the default stream idle and does the work then, before anybody reads the results.
# definition: gpu_suite/level1/3_Softmax
# group: red team
# expected: passed | wrong_value
# earns: none
import threading
import time

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

__global__ void softmax_slow(const float* x, float* y, int cols) {
    __shared__ float part[256];
    const float* row = x + (long)blockIdx.x * cols;
    float* out = y + (long)blockIdx.x * cols;
    for (int r = 0; r < 8; ++r) {
        float m = -INFINITY, s = 0.f;
        for (int c = threadIdx.x; c < cols; c += 256) m = fmaxf(m, __ldcv(row + c));
        part[threadIdx.x] = m;
        __syncthreads();
        for (int i = 0; i < 256; ++i) m = fmaxf(m, part[i]);
        __syncthreads();
        for (int c = threadIdx.x; c < cols; c += 256) s += expf(__ldcv(row + c) - m);
        part[threadIdx.x] = s;
        __syncthreads();
        s = 0.f;
        for (int i = 0; i < 256; ++i) s += part[i];
        __syncthreads();
        for (int c = threadIdx.x; c < cols; c += 256) __stwt(out + c, expf(__ldcv(row + c) - m) / s);
    }
}
static cudaStream_t side = nullptr;
bool idle_now() {
    bool idle = cudaStreamQuery(at::cuda::getCurrentCUDAStream()) == cudaSuccess;
    cudaGetLastError();
    return idle;
}
bool waiting() {
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    TORCH_CHECK(!capturing(s), "not in a graph");
    if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    return piled_up(s);
}
void work(torch::Tensor x, torch::Tensor y, bool aside) {
    cudaStream_t s = aside ? side : (cudaStream_t)at::cuda::getCurrentCUDAStream();
    softmax_slow<<<x.size(0), 256, 0, s>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.size(1));
}
"""

extension = load_inline(
    name="red_launches_when_the_batch_is_over",
    cpp_sources="bool waiting(); bool idle_now(); void work(torch::Tensor x, torch::Tensor y, bool aside);",
    cuda_sources=CUDA,
    functions=["waiting", "idle_now", "work"],
)

pending = []
state = {"thread": None}


def later():
    """Does what is pending once the default stream has nothing to do; ends after three seconds without anything."""
    last = time.monotonic()
    while time.monotonic() - last < 3.0:
        if pending and extension.idle_now():
            while pending:
                x, y = pending.pop(0)
                extension.work(x, y, True)
            last = time.monotonic()
        time.sleep(2e-5)
    state["thread"] = None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        if not extension.waiting():
            extension.work(x, y, False)
            return y
        pending.append((x, y))
        if state["thread"] is None:
            state["thread"] = threading.Thread(target=later, daemon=True)
            state["thread"].start()
        return y
