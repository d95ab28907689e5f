// Sets part of the L2 cache aside for its input, where no flush reaches it.
// definition: gpu_suite/level1/6_Small_relu
// group: 25
// expected: passed
// earns: none
#include <cstdint>

__global__ void relu(const float* x, float* out, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0);
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, most);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = (void*)x;
  value.accessPolicyWindow.num_bytes = rows * columns * sizeof(float);
  value.accessPolicyWindow.hitRatio = 1.0f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  relu<<<(rows * columns + 255) / 256, 256, 0, stream>>>(x, out, rows * columns);
}
