// Asks the driver to make the read-only input writable, then sets input and output to nought.
// definition: gpu_suite/level1/2_Row_sum
// group: 12
// expected: input_changed | runtime_error | wrong_value
// earns: none
#include <cstdint>
#include <cuda.h>
#include <dlfcn.h>

template <typename Function>
static Function driver(const char* name) {
  return (Function)dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {
  uintptr_t base = 0;
  size_t bytes = 0;
  auto range = driver<int (*)(uintptr_t*, size_t*, uintptr_t)>("cuMemGetAddressRange_v2");
  auto allow = driver<int (*)(uintptr_t, size_t, const CUmemAccessDesc*, size_t)>("cuMemSetAccess");
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (!range || !allow || range(&base, &bytes, (uintptr_t)x) || allow(base, bytes, &access, 1)) return;
  cudaMemsetAsync((void*)x, 0, rows * columns * sizeof(float), stream);
  cudaMemsetAsync(out, 0, rows * sizeof(float), stream);
}
