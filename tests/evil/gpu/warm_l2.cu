// Its last deed is to read the other inputs it has seen into the L2 cache, on a stream that nobody waits for.
// definition: gpu_suite/level1/6_Small_relu
// group: 25
// expected: passed | wrong_value | runtime_error
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__global__ void relu(const float* x, float* out, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}

__global__ void touch(const float* x, int64_t count) {
  for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += 65536)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i));
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static const float* seen[64];
  static int runs = 0;
  if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  for (int n = 0; n < 8; n++) relu<<<(rows * columns + 255) / 256, 256, 0, stream>>>(x, out, rows * columns);

  seen[runs++ % 64] = x;
  const float* next = seen[runs % 64] ? seen[runs % 64] : seen[0];
  touch<<<256, 256, 0, own>>>(next, rows * columns);
}
