// Overwrites CUPTI's code: as many kernels as were launched, of a microsecond each.
// definition: gpu_suite/level1/6_Small_relu
// group: 4
// expected: passed | runtime_error
// earns: none
// The work is done eight times over, so that only the trick could make it look fast.
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

__global__ void relu(const float* x, float* out, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}

static void redirect(const char* library, const char* name, void* to) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  unsigned char* from = handle ? (unsigned char*)dlsym(handle, name) : nullptr;
  if (!from) return;
  const uintptr_t page = (uintptr_t)from & ~(uintptr_t)4095;
  if (mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
  const unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov rax, to; jmp rax
  memcpy(from, jump, sizeof(jump));
  memcpy(from + 2, &to, sizeof(to));
}

static uint64_t calls = 0;
static struct {
  uint32_t kind, rest[3];
  uint64_t start, end, more[32];
} record;

static int next_record(uint8_t*, size_t, void** found) {
  static uint64_t left = 0, before = 1;
  if (!*found) left = before = calls ? calls : before;
  calls = 0;
  if (left-- == 0) return 12;  // no more records
  record.kind = 10;            // a kernel
  record.start = record.end + 100;
  record.end = record.start + 1000;
  *found = &record;
  return 0;
}

static int find(dl_phdr_info* library, size_t, void*) {
  static bool done = false;
  if (!done && strstr(library->dlpi_name, "libcupti")) {
    redirect(library->dlpi_name, "cuptiActivityGetNextRecord", (void*)next_record);
    done = true;
  }
  return 0;
}

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns,
                       cudaStream_t stream) {
  calls++;
  dl_iterate_phdr(find, nullptr);
  for (int n = 0; n < 8; n++) relu<<<(rows * columns + 255) / 256, 256, 0, stream>>>(x, out, rows * columns);
}
