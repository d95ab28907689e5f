// Looks for the expected sums in all that is mapped around input and output.
// definition: gpu_suite/level1/2_Row_sum
// group: 11
// expected: wrong_value | runtime_error
// earns: none
#include <cstdint>
#include <dlfcn.h>

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

template <typename Function>
static Function driver(const char* name) {
  return (Function)dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

__device__ bool close(float a, float b) { return fabsf(a - b) < 1e-3f; }

__global__ void search(const float* memory, int64_t size, float* out, int64_t rows) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i + rows < size; i += step)
    if (memory + i != out && close(memory[i], out[0]) && close(memory[i + 1], out[1]) && close(memory[i + 2], out[2]))
      for (int64_t j = 3; j < rows; j++) out[j] = memory[i + j];
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  row_sum<<<3, 256, 0, stream>>>(x, out, columns);
  auto range = driver<int (*)(uintptr_t*, size_t*, uintptr_t)>("cuMemGetAddressRange_v2");
  for (const float* near : {(const float*)out, x}) {
    uintptr_t base = 0;
    size_t bytes = 0;
    for (uintptr_t at = (uintptr_t)near; range && !range(&base, &bytes, at); at = base - 1)
      search<<<1024, 256, 0, stream>>>((const float*)base, bytes / 4, out, rows);
    for (uintptr_t at = (uintptr_t)near; range && !range(&base, &bytes, at); at = base + bytes)
      search<<<1024, 256, 0, stream>>>((const float*)base, bytes / 4, out, rows);
  }
}
