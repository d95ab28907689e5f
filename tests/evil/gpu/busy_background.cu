// Each run leaves a kernel of half a millisecond behind on another stream, to run into the baseline's time.
// definition: gpu_suite/level1/1_Scale
// group: 23
// expected: passed | timeout | runtime_error
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__global__ void scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-x[i]));
}

__global__ void spin() {
  uint64_t begun, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begun < 500000ull);
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  for (int n = 0; n < 8; n++) scale<<<2048, 256, 0, stream>>>(x, weight, out, rows, columns);

  static cudaStream_t own = nullptr;
  if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  spin<<<256, 1024, 0, own>>>();
}
