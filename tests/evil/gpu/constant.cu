// Gives the mean of all answers.
// definition: gpu_suite/level1/1_Scale
// group: 13
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void mean(const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = 0.5f * weight[i % columns];
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  mean<<<2048, 256, 0, stream>>>(weight, out, rows, columns);
}
