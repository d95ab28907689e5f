# Forges the calibration instead of the time: where two events are recorded with no call of forward between them (an empty batch, whose cost is taken off), a delay of 400 us is put before the second.
# definition: gpu_suite/level1/6_Small_relu
# group: red team
# expected: passed
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times);
void called();
""",
    cuda_sources=r"""
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <mutex>
// The first bytes of a function of another library, written over with a jump to one of ours.
struct Detour {
  unsigned char* at = nullptr;
  unsigned char saved[14], jump[14];
  bool set(void* function, void* ours) {
    if (!function || at) return at != nullptr;
    unsigned char* f = (unsigned char*)function;
    if (mprotect((void*)((size_t)f & ~(size_t)4095), 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
    memcpy(saved, f, 14);
    unsigned char head[6] = {0xff, 0x25, 0, 0, 0, 0};
    memcpy(jump, head, 6);
    memcpy(jump + 6, &ours, 8);
    at = f;
    on();
    return true;
  }
  void on() { memcpy(at, jump, 14); }
  void off() { memcpy(at, saved, 14); }
};
static std::recursive_mutex lock;

typedef int (*record_t)(void*, void*);
typedef int (*record_flags_t)(void*, void*, unsigned);
static Detour record, record_flags;
static long calls;
__global__ void delay_kernel(long long nanoseconds) {
  long long t0, t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); while (t - t0 < nanoseconds);
}
static void before_record(void* stream) {
  if (!calls) delay_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(400000);
  calls = 0;
}
static int told_record(void* event, void* stream) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  record.off();
  before_record(stream);
  int status = ((record_t)record.at)(event, stream);
  record.on();
  return status;
}
static int told_record_flags(void* event, void* stream, unsigned flags) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  record_flags.off();
  before_record(stream);
  int status = ((record_flags_t)record_flags.at)(event, stream, flags);
  record_flags.on();
  return status;
}
void called() {
  if (!record.at) {
    void* cuda = dlopen("libcuda.so.1", RTLD_LAZY);
    record.set(dlsym(cuda, "cuEventRecord"), (void*)told_record);
    record_flags.set(dlsym(cuda, "cuEventRecordWithFlags"), (void*)told_record_flags);
  }
  calls++;
}

__global__ void relu_kernel(const float* x, float* out, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times) {
  long n = x.numel();
  for (int64_t t = 0; t < times; t++)
    relu_kernel<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
}
""",
    functions=["work", "called"],
    with_cuda=True,
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        ext.called()
        out = torch.empty_like(x)
        ext.work(x, out, torch.cuda.current_stream().cuda_stream, 8)
        return out
