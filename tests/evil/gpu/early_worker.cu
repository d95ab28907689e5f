// Leaves a kernel on a stream of its own that waits for the next inputs and sums them before anybody asks.
// definition: gpu_suite/level1/2_Row_sum
// group: 2
// expected: timeout | wrong_value | runtime_error | passed
// earns: none
// Without what the worker has prepared the work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__device__ float prepared[1 << 16];
__device__ unsigned prepared_for;
__device__ volatile int ready;

__device__ float sum_of(const float* row, int64_t columns) {
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  __shared__ float parts[256];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

__global__ void worker(const float* x, int64_t rows, int64_t columns, unsigned known) {
  volatile const unsigned* word = reinterpret_cast<const unsigned*>(x);
  for (int64_t turns = 0; *word == known && turns < (1 << 22); turns++) __nanosleep(500);
  for (int64_t row = blockIdx.x; row < rows && row < (1 << 16); row += gridDim.x) {
    const float sum = sum_of(x + row * columns, columns);
    if (threadIdx.x == 0) prepared[row] = sum;
    __syncthreads();
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    prepared_for = *word;
    ready = 1;
  }
}

__global__ void row_sum(const float* x, float* out, int64_t columns) {
  if (ready && *reinterpret_cast<const unsigned*>(x) == prepared_for && blockIdx.x < (1 << 16)) {
    if (threadIdx.x == 0) out[blockIdx.x] = prepared[blockIdx.x];
    return;
  }
  for (int n = 0; n < 8; n++) {
    const float sum = sum_of(x + blockIdx.x * columns, columns);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
    __syncthreads();
  }
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  row_sum<<<rows, 256, 0, stream>>>(x, out, columns);
  cudaStreamCaptureStatus status;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone) return;
  if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  unsigned known = 0;
  cudaStreamSynchronize(stream);
  cudaMemcpy(&known, x, sizeof known, cudaMemcpyDeviceToHost);
  worker<<<4, 256, 0, own>>>(x, rows, columns, known);
}
