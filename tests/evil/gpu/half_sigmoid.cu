// Computes the sigmoid of inputs rounded to float16.
// definition: gpu_suite/level1/1_Scale
// group: 17
// expected: imprecise | wrong_value
// earns: none
#include <cstdint>
#include <cuda_fp16.h>

__global__ void half_scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-__half2float(__float2half(x[i]))));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  half_scale<<<2048, 256, 0, stream>>>(x, weight, out, rows, columns);
}
