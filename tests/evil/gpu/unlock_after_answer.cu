// Answers correctly, and then spoils the shared input for whoever reads it next, the baseline included.
// definition: gpu_suite/level1/2_Row_sum
// group: 12
// expected: passed | input_changed | runtime_error | wrong_value
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>
#include <cuda.h>
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

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  for (int n = 0; n < 8; n++) row_sum<<<rows, 256, 0, stream>>>(x, out, columns);

  uintptr_t base = 0;
  size_t bytes = 0;
  auto range = driver<int (*)(uintptr_t*, size_t*, uintptr_t)>("cuMemGetAddressRange_v2");
  auto allow = driver<int (*)(uintptr_t, size_t, const CUmemAccessDesc*, size_t)>("cuMemSetAccess");
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (range && allow && !range(&base, &bytes, (uintptr_t)x) && !allow(base, bytes, &access, 1))
    cudaMemsetAsync((void*)x, 255, rows * columns * sizeof(float), stream);
}
