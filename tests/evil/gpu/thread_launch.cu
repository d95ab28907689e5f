// A thread launches the work two milliseconds after the launcher has returned.
// definition: gpu_suite/level1/1_Scale
// group: 2
// expected: wrong_value | runtime_error
// earns: none
#include <chrono>
#include <cstdint>
#include <thread>

__global__ void scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-x[i]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    scale<<<2048, 256, 0, stream>>>(x, weight, out, rows, columns);
  }).detach();
}
