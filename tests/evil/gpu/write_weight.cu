// A kernel sets weights and output to nought.
// definition: gpu_suite/level1/1_Scale
// group: 12
// expected: runtime_error | input_changed | wrong_value
// earns: none
#include <cstdint>

__global__ void wipe(float* place, int64_t count) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += step) place[i] = 0.0f;
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  wipe<<<1024, 256, 0, stream>>>((float*)weight, columns);
  wipe<<<1024, 256, 0, stream>>>(out, rows * columns);
}
