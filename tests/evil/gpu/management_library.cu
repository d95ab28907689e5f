// Works only if NVML answers in its process, through which clocks could be changed; it changes none itself.
// definition: gpu_suite/level1/1_Scale
// group: 23
// expected: wrong_value | passed
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>
#include <dlfcn.h>

__global__ void scale(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = weight[i % columns] / (1.0f + expf(-x[i]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  static void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!nvml) return;
  auto start = (int (*)())dlsym(nvml, "nvmlInit_v2");
  auto find = (int (*)(unsigned, void**))dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2");
  auto clock = (int (*)(void*, int, unsigned*))dlsym(nvml, "nvmlDeviceGetClockInfo");
  void* device = nullptr;
  unsigned mhz = 0;
  if (start() || find(0, &device) || clock(device, 1, &mhz)) return;
  for (int n = 0; n < 8; n++) scale<<<2048, 256, 0, stream>>>(x, weight, out, rows, columns);
}
