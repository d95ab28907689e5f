// A worker thread takes the launches from a queue, while the launcher returns at once.
// definition: gpu_suite/level1/2_Row_sum
// group: 2
// expected: wrong_value | passed | runtime_error
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>
#include <mutex>
#include <queue>
#include <thread>

__global__ void row_sum(const float* x, float* out, int64_t columns) {
  __shared__ float part[256];
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += x[blockIdx.x * columns + j];
  part[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

struct Task {
  const float* x;
  float* out;
  int64_t rows, columns;
};
static std::mutex lock;
static std::queue<Task> waiting;

static void work() {
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  for (;;) {
    std::lock_guard<std::mutex> hold(lock);
    for (; !waiting.empty(); waiting.pop()) {
      const Task task = waiting.front();
      for (int n = 0; n < 8; n++) row_sum<<<task.rows, 256, 0, own>>>(task.x, task.out, task.columns);
    }
  }
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  static bool started = false;
  if (!started) std::thread(work).detach();
  started = true;
  std::lock_guard<std::mutex> hold(lock);
  waiting.push({x, out, rows, columns});
}
