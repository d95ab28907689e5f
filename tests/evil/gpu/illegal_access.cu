// A kernel writes far beyond all memory.
// definition: gpu_suite/level1/1_Scale
// group: 19
// expected: runtime_error
// earns: none
#include <cstdint>

__global__ void wild(float* out) { out[((int64_t)1 << 44) + threadIdx.x] = 1.0f; }

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  wild<<<1, 32, 0, stream>>>(out);
}
