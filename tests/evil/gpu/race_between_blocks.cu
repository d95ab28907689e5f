// The last block adds up what the others have written, without making sure that they have.
// definition: gpu_suite/level1/2_Row_sum
// group: 20
// expected: wrong_value
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__global__ void row_sum_of_parts(const float* x, float* out, float* parts, int64_t columns) {
  float* mine = parts + blockIdx.y * 8;
  float sum = 0.0f;
  for (int64_t j = blockIdx.x * 128 + threadIdx.x; j < columns; j += 1024) sum += x[blockIdx.y * columns + j];
  atomicAdd(&mine[blockIdx.x], sum);
  if (blockIdx.x == 7 && threadIdx.x == 127) {
    float total = 0.0f;
    for (int n = 0; n < 8; n++) total += mine[n];
    out[blockIdx.y] = total;
  }
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  static float* parts = nullptr;
  if (!parts) cudaMalloc(&parts, 8 * 65536 * sizeof(float));
  cudaMemsetAsync(parts, 0, rows * 8 * sizeof(float), stream);
  row_sum_of_parts<<<dim3(8, rows), 128, 0, stream>>>(x, out, parts, columns);
}
