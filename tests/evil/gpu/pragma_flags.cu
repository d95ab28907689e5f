// Asks for other optimisation and fast mathematics by pragmas and attributes.
// definition: gpu_suite/level1/1_Scale
// group: 30
// expected: passed
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__global__ void scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-x[i]));
}

#pragma GCC optimize("O3,fast-math,associative-math")
#pragma GCC target("avx2")
#pragma nv_diag_suppress 177
#define __FAST_MATH__ 1
__attribute__((optimize("fast-math"), unused)) static float half(float x) { return x / 2.0f; }

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  for (int n = 0; n < 8; n++) scale<<<2048, 256, 0, stream>>>(x, weight, out, rows, columns);
}
