// A host callback in the stream wakes a thread, which launches the work elsewhere after the stream is done.
// definition: gpu_suite/level1/1_Scale
// group: 2
// expected: wrong_value | passed | runtime_error | timeout
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <atomic>
#include <cstdint>
#include <thread>

__global__ void scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-x[i]));
}

static struct {
  const float *x, *weight;
  float* out;
  int64_t rows, columns;
} task;
static std::atomic<int> wanted{0};

static void work() {
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  for (;;)
    if (wanted > 0) {
      for (int n = 0; n < 8; n++)
        scale<<<2048, 256, 0, own>>>(task.x, task.weight, task.out, task.rows, task.columns);
      wanted--;
    }
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  static bool started = false;
  if (!started) std::thread(work).detach();
  started = true;
  task = {x, weight, out, rows, columns};
  cudaLaunchHostFunc(stream, [](void*) { wanted++; }, nullptr);
}
