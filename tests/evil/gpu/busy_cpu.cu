// Keeps all CPUs busy while the baseline is to be launched.
// definition: gpu_suite/level1/1_Scale
// group: 23
// expected: passed
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>
#include <thread>

__global__ void scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-x[i]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  static bool busy = false;
  for (int i = 0; !busy && i < 32; i++)
    std::thread([] {
      for (volatile long n = 0;; n = n + 1) {}
    }).detach();
  busy = true;
  for (int n = 0; n < 8; n++) scale<<<2048, 256, 0, stream>>>(x, weight, out, rows, columns);
}
