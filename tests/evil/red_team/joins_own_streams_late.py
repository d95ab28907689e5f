# In a burst of calls each kernel runs on one of 16 streams of its own and is joined by the default stream only 12 calls later, so that runs of a batch overlap; calls that stand alone are joined at once.
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
#include <chrono>

__global__ void relu(const float* x, float* out, int n) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        for (int again = 0; again < 8; again++) {
            float v = ((volatile const float*)x)[i];
            ((volatile float*)out)[i] = v > 0 || v != v ? v : 0.f;
        }
}

torch::Tensor apply_relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    cudaStream_t s = at::cuda::getCurrentCUDAStream();
    constexpr int COUNT = 16, LATE = 12;
    static cudaStream_t own[COUNT];
    static cudaEvent_t begun[COUNT], done[COUNT];
    static bool made = false;
    static long burst = 0;
    static auto last = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(s, &status);
    auto time = std::chrono::steady_clock::now();
    bool alone = time - last > std::chrono::microseconds(200);
    last = time;
    if (alone) burst = 0;
    if (alone || status != cudaStreamCaptureStatusNone) {
        relu<<<256, 256, 0, s>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
        return out;
    }
    if (!made) {
        made = true;
        for (int i = 0; i < COUNT; i++) {
            cudaStreamCreateWithFlags(&own[i], cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&begun[i], cudaEventDisableTiming);
            cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
        }
    }
    int k = burst % COUNT;
    cudaEventRecord(begun[k], s);
    cudaStreamWaitEvent(own[k], begun[k], 0);
    relu<<<256, 256, 0, own[k]>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    cudaEventRecord(done[k], own[k]);
    if (burst >= LATE) cudaStreamWaitEvent(s, done[(burst - LATE) % COUNT], 0);
    burst++;
    return out;
}
"""

extension = load_inline(
    name="red3_joins_late",
    cpp_sources="torch::Tensor apply_relu(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["apply_relu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.apply_relu(x.contiguous())
