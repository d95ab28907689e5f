// Puts nothing into a graph: it works only when it is not being captured.
// definition: gpu_suite/level1/6_Small_relu
// group: 9
// expected: wrong_value | passed
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__global__ void relu(const float* x, float* out, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(stream, &status);
  if (status != cudaStreamCaptureStatusNone) return;
  for (int n = 0; n < 8; n++) relu<<<(rows * columns + 255) / 256, 256, 0, stream>>>(x, out, rows * columns);
}
