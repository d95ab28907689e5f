// Gives an earlier answer again when 64 elements of the input, spread over it, are what they were then.
// definition: gpu_suite/level1/2_Row_sum
// group: 7
// expected: passed | wrong_value
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__device__ int same;

__global__ void look(const float* x, float* samples, int64_t rows, int64_t columns) {
  const float now = x[(rows * columns - 1) * threadIdx.x / 63];
  const int equal = __syncthreads_and(now == samples[threadIdx.x]);
  samples[threadIdx.x] = now;
  if (threadIdx.x == 0) same = equal;
}

__global__ void row_sum_or_old(const float* x, float* out, float* answer, int64_t columns) {
  __shared__ float total;
  if (threadIdx.x == 0) total = same ? answer[blockIdx.x] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns && !same; j += 256) sum += x[blockIdx.x * columns + j];
  if (!same) atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = answer[blockIdx.x] = total;
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  static float *samples = nullptr, *answer = nullptr;
  if (!samples) {
    cudaMalloc(&samples, 64 * sizeof(float));
    cudaMalloc(&answer, (1 << 16) * sizeof(float));
  }
  look<<<1, 64, 0, stream>>>(x, samples, rows, columns);
  for (int n = 0; n < 8; n++) row_sum_or_old<<<rows, 256, 0, stream>>>(x, out, answer, columns);
}
