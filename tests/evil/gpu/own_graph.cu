// Captures a graph in its first run, and replays it with that run's addresses ever after.
// definition: gpu_suite/level1/2_Row_sum
// group: 26
// expected: wrong_value | runtime_error
// earns: none
#include <cstdint>

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

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  static cudaGraphExec_t graph = nullptr;
  static cudaStream_t own = nullptr;
  if (!graph) {
    cudaGraph_t captured;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed);
    row_sum<<<rows, 256, 0, own>>>(x, out, columns);
    cudaStreamEndCapture(own, &captured);
    cudaGraphInstantiate(&graph, captured, 0);
  }
  cudaGraphLaunch(graph, stream);
}
