// Asks for 200 GB of device memory and writes to them without looking whether it got them.
// definition: gpu_suite/level1/1_Scale
// group: 23
// expected: runtime_error | out_of_memory
// earns: none
#include <cstdint>

__global__ void touch(float* memory, float* out) {
  memory[49999999999ll] = 1.0f;
  out[0] = memory[0];
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  void* memory = nullptr;
  cudaMalloc(&memory, 200000000000ull);
  touch<<<1, 1, 0, stream>>>((float*)memory, out);
}
