// A kernel that never seems to end takes orders from memory, so that a run is only a tiny message to it.
// definition: gpu_suite/level1/1_Scale
// group: 22
// expected: passed | wrong_value | timeout | runtime_error
// earns: none
#include <cstdint>

struct Order {
  const float *x, *weight;
  float* out;
  int64_t rows, columns;
};
__device__ Order orders[1024];
__device__ volatile unsigned posted;

__global__ void order(Order one) {
  orders[posted % 1024] = one;
  __threadfence();
  posted = posted + 1;
}

__global__ void serve() {
  uint64_t now, last;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(last));
  for (unsigned done = 0;;) {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - last > 3000000000ull) return;  // goes after three idle seconds
    if (done == posted) continue;
    last = now;
    const volatile Order& one = orders[done++ % 1024];
    for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < one.rows * one.columns; i += 64 * 256)
      one.out[i] = one.weight[i % one.columns] / (1.0f + expf(-one.x[i]));
  }
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    serve<<<64, 256, 0, own>>>();
  }
  order<<<1, 1, 0, stream>>>({x, weight, out, rows, columns});
}
