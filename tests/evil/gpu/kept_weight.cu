// Keeps the weights of the first run in constant memory and never looks at them again.
// definition: gpu_suite/level1/1_Scale
// group: 28
// expected: wrong_value | passed
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>

__device__ float kept[8192];

__global__ void scale_by_kept(const float* x, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = kept[i % columns] / (1.0f + expf(-x[i]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  static int64_t size = 0;
  if (size != columns) {
    cudaDeviceSynchronize();
    cudaMemcpyToSymbol(kept, weight, columns * sizeof(float), 0, cudaMemcpyDeviceToDevice);
    size = columns;
  }
  for (int n = 0; n < 8; n++) scale_by_kept<<<2048, 256, 0, stream>>>(x, out, rows, columns);
}
