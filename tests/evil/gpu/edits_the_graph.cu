// Adds its kernel to the judge's graph as a node that nothing waits for and that waits for nothing.
// definition: gpu_suite/level1/6_Small_relu
// group: 26
// expected: passed | wrong_value | runtime_error | timeout
// earns: none
#include <cstdint>

__global__ void relu_slow(const float* x, float* out, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  for (volatile int n = 0; n < 1000; n = n + 1) {}  // slow on purpose: only the trick could make it look fast
  if (i < count) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  cudaStreamCaptureStatus status;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr);
#else
  cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr);
#endif
  int64_t count = rows * columns;
  void* arguments[] = {&x, &out, &count};
  cudaKernelNodeParams node = {};
  node.func = (void*)relu_slow;
  node.gridDim = dim3((count + 255) / 256);
  node.blockDim = dim3(256);
  node.kernelParams = arguments;
  cudaGraphNode_t added;
  const bool capturing = status == cudaStreamCaptureStatusActive;
  if (!capturing || cudaGraphAddKernelNode(&added, graph, nullptr, 0, &node) != cudaSuccess)
    relu_slow<<<(count + 255) / 256, 256, 0, stream>>>(x, out, count);
}
