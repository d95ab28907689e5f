// Leaves everything below the tolerance at nought and spares itself most exponentials.
// definition: gpu_suite/level1/3_Softmax
// group: 18
// expected: imprecise | wrong_value
// earns: none
#include <climits>
#include <cstdint>

__global__ void softmax(const float* x, float* out, int64_t columns) {
  __shared__ float total;
  __shared__ int largest;
  if (threadIdx.x == 0) total = 0.0f, largest = INT_MIN;
  __syncthreads();
  const int64_t start = blockIdx.x * columns;
  float most = -INFINITY, sum = 0.0f;
  for (int64_t j = threadIdx.x; j < columns; j += 256) most = fmaxf(most, x[start + j]);
  int ordered = __float_as_int(most);
  atomicMax(&largest, ordered < 0 ? ordered ^ 0x7fffffff : ordered);
  __syncthreads();
  most = __int_as_float(largest < 0 ? largest ^ 0x7fffffff : largest);
  for (int64_t j = threadIdx.x; j < columns; j += 256) sum += expf(x[start + j] - most);
  atomicAdd(&total, sum);
  __syncthreads();
  const float bound = most + logf(9e-5f * total);
  for (int64_t j = threadIdx.x; j < columns; j += 256)
    out[start + j] = x[start + j] < bound ? 0.0f : expf(x[start + j] - most) / total;
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  softmax<<<rows, 256, 0, stream>>>(x, out, columns);
}
