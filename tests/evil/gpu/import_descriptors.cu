// Maps every open descriptor as device memory again, writable this time, and fills it with noughts.
// definition: gpu_suite/level1/2_Row_sum
// group: 12
// expected: wrong_value | input_changed | runtime_error
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
  auto import = driver<int (*)(void**, void*, int)>("cuMemImportFromShareableHandle");
  auto reserve = driver<int (*)(uintptr_t*, size_t, size_t, uintptr_t, unsigned long long)>("cuMemAddressReserve");
  auto map = driver<int (*)(uintptr_t, size_t, size_t, void*, unsigned long long)>("cuMemMap");
  auto allow = driver<int (*)(uintptr_t, size_t, const CUmemAccessDesc*, size_t)>("cuMemSetAccess");
  const size_t bytes = 2 << 20;
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  for (int64_t fd = 3; fd < 256; fd++) {
    void* handle = nullptr;
    uintptr_t place = 0;
    if (import(&handle, (void*)fd, 1) || reserve(&place, bytes, 0, 0, 0)) continue;
    if (!map(place, bytes, 0, handle, 0) && !allow(place, bytes, &access, 1)) cudaMemset((void*)place, 0, bytes);
  }
  cudaMemsetAsync(out, 0, rows * sizeof(float), stream);
}
