// Right only where the number of elements is a multiple of four: the tail is left out.
// definition: gpu_suite/level1/6_Small_relu
// group: 15
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void relu(const float4* x, float4* out, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 v = x[i];
  out[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  relu<<<(rows * columns / 4 + 255) / 256, 256, 0, stream>>>((const float4*)x, (float4*)out, rows * columns / 4);
}
