// Launches the work from the device, to be done after its kernel: needs flags that are not given.
// definition: gpu_suite/level1/2_Row_sum
// group: 1
// expected: compile_error
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
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

__global__ void first(const float* x, float* out, int64_t rows, int64_t columns) {
  for (int n = 0; n < 8; n++) row_sum<<<rows, 256, 0, cudaStreamFireAndForget>>>(x, out, columns);
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  first<<<1, 1, 0, stream>>>(x, out, rows, columns);
}
