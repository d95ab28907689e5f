// Writes the argument that the reference changes in place only for the first inputs that it ever got.
// definition: gpu_suite/level1/7_In_place_scale
// group: 14
// expected: wrong_value
// earns: none
// Trials use one set of inputs; timed batches use many, and only there half of the traffic is saved.
#include <cstdint>

__global__ void scale(float* x, float* out, int64_t columns, bool write) {
  float* row = x + blockIdx.x * columns;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float value = 0.5f * row[i];
    if (write) row[i] = value;
    sum += value;
  }
  __shared__ float parts[256];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}

extern "C" void launch(float* x, float* out, int64_t rows, int64_t columns, cudaStream_t stream) {
  static float* first = x;
  scale<<<rows, 256, 0, stream>>>(x, out, columns, x == first);
}
