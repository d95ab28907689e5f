// A kernel that never ends.
// definition: gpu_suite/level1/1_Scale
// group: 23
// expected: timeout
// earns: none
#include <cstdint>

__global__ void endless(volatile float* out) {
  while (out[threadIdx.x] != 12345.0f) out[threadIdx.x] = 1.0f;
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  endless<<<1024, 256, 0, stream>>>(out);
}
