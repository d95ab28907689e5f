# A kernel on a non-blocking side stream, which no gate holds, waits until the judge has written new inputs; the product is made there before the gates open, and the timed call only compares 4096 samples and copies.
# definition: gpu_suite/level1/4_Matmul
# group: red team
# expected: passed
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void mark(torch::Tensor a, torch::Tensor b, torch::Tensor stamp, int64_t stream);
void answer(torch::Tensor a, torch::Tensor b, torch::Tensor out, torch::Tensor kept, torch::Tensor now, torch::Tensor before, bool keep, int64_t stream);
void watch(torch::Tensor a, torch::Tensor b, torch::Tensor passed, int64_t stream);
void set(torch::Tensor word, int64_t stream);
void settle(torch::Tensor before, torch::Tensor after, int64_t stream);
""",
    cuda_sources=r"""

// A fingerprint of 2048 elements of each input.
__global__ void mark_kernel(const float* a, long na, const float* b, long nb, unsigned long long* stamp) {
  __shared__ unsigned long long sum;
  if (!threadIdx.x) sum = 1;
  __syncthreads();
  unsigned long long mine = 0;
  for (int j = threadIdx.x; j < 2048; j += 1024) {
    unsigned long long p = __float_as_uint(((const volatile float*)a)[j * (na / 2048)]);
    unsigned long long q = __float_as_uint(((const volatile float*)b)[j * (nb / 2048)]);
    mine += (p * 0x9E3779B97F4A7C15ull ^ (q << 17)) * (2ull * j + 1);
  }
  atomicAdd(&sum, mine);
  __syncthreads();
  if (!threadIdx.x) *stamp = sum;
}
// Copies the kept result where both stamps agree; else multiplies, slowly.
__global__ void answer_kernel(const float* a, const float* b, float* out, float* kept, const unsigned long long* now,
                              const unsigned long long* before, bool keep, int m, int k, int n) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (*now == *before) {
    if (r < m && c < n) out[(long)r * n + c] = kept[(long)r * n + c];
    return;
  }
  __shared__ float p[16][16], q[16][17];
  float s = 0;
  for (int l = 0; l < k; l += 16) {
    p[threadIdx.y][threadIdx.x] = r < m && l + threadIdx.x < k ? a[(long)r * k + l + threadIdx.x] : 0;
    q[threadIdx.y][threadIdx.x] = c < n && l + threadIdx.y < k ? b[(long)(l + threadIdx.y) * n + c] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) s += p[threadIdx.y][i] * q[i][threadIdx.x];
    __syncthreads();
  }
  if (r < m && c < n) { out[(long)r * n + c] = s; if (keep) kept[(long)r * n + c] = s; }
}
void mark(torch::Tensor a, torch::Tensor b, torch::Tensor stamp, int64_t stream) {
  mark_kernel<<<1, 1024, 0, (cudaStream_t)stream>>>(a.data_ptr<float>(), a.numel(), b.data_ptr<float>(), b.numel(),
      (unsigned long long*)stamp.data_ptr<int64_t>());
}
void answer(torch::Tensor a, torch::Tensor b, torch::Tensor out, torch::Tensor kept, torch::Tensor now, torch::Tensor before, bool keep, int64_t stream) {
  int m = a.size(0), k = a.size(1), n = b.size(1);
  answer_kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, (cudaStream_t)stream>>>(
      a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), kept.data_ptr<float>(),
      (unsigned long long*)now.data_ptr<int64_t>(), (unsigned long long*)before.data_ptr<int64_t>(), keep, m, k, n);
}

// Ends when the inputs are others than when it began and have been at rest for 100 us; or when the timed call came first; or after 20 ms.
__global__ void watch_kernel(const float* a, long na, const float* b, long nb, const volatile int* passed) {
  __shared__ int changed, moved;
  long long t0, t, since = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0));
  const volatile float* p = a + threadIdx.x * (na / 1024);
  const volatile float* q = b + threadIdx.x * (nb / 1024);
  float first_p = *p, first_q = *q, last_p = first_p, last_q = first_q;
  for (;;) {
    if (!threadIdx.x) changed = moved = 0;
    __syncthreads();
    float now_p = *p, now_q = *q;
    if (now_q != first_q && now_p != first_p) changed = 1;
    if (now_p != last_p || now_q != last_q) moved = 1;
    last_p = now_p;
    last_q = now_q;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    __syncthreads();
    if (moved || !since) since = t;
    int stop = (changed && t - since > 100000) || *passed || t - t0 > 20000000;
    if (__syncthreads_or(stop)) return;
    __nanosleep(2000);
  }
}
__global__ void set_kernel(int* word) { *(volatile int*)word = 1; }
// The stamps from before and after the product must agree, else there is no result.
__global__ void settle_kernel(const long long* before, long long* after) { if (*before != *after) *after = 0; }
void watch(torch::Tensor a, torch::Tensor b, torch::Tensor passed, int64_t stream) {
  watch_kernel<<<1, 1024, 0, (cudaStream_t)stream>>>(a.data_ptr<float>(), a.numel(), b.data_ptr<float>(), b.numel(), passed.data_ptr<int>());
}
void set(torch::Tensor word, int64_t stream) { set_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(word.data_ptr<int>()); }
void settle(torch::Tensor before, torch::Tensor after, int64_t stream) {
  settle_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((long long*)before.data_ptr<int64_t>(), (long long*)after.data_ptr<int64_t>());
}
""",
    functions=["mark", "answer", "watch", "set", "settle"],
    with_cuda=True,
    verbose=False,
)


class Slot:
    """Room for one product that is made ahead."""

    def __init__(self, a, b):
        self.kept = a.new_empty(a.shape[0], b.shape[1])
        self.stamps = torch.zeros(3, dtype=torch.int64, device=a.device)
        self.passed = torch.zeros(1, dtype=torch.int32, device=a.device)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.slots = []
        self.calls = 0

    def forward(self, a, b):
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("not in a graph")
        if not self.slots:
            self.slots = [Slot(a, b) for _ in range(300)]
            self.aside = torch.cuda.Stream()
            torch.cuda.synchronize()
        slot = self.slots[self.calls % 300]
        self.calls += 1
        before, after, now = slot.stamps[0:1], slot.stamps[1:2], slot.stamps[2:3]
        with torch.cuda.stream(self.aside):
            handle = self.aside.cuda_stream
            slot.passed.zero_()
            after.zero_()
            ext.watch(a, b, slot.passed, handle)
            ext.mark(a, b, before, handle)
            torch.mm(a, b, out=slot.kept)
            ext.mark(a, b, after, handle)
            ext.settle(before, after, handle)
        main = torch.cuda.current_stream().cuda_stream
        out = a.new_empty(a.shape[0], b.shape[1])
        ext.set(slot.passed, main)
        ext.mark(a, b, now, main)
        # Where nothing was made ahead, the slow product goes to out alone: the slot belongs to the side stream.
        ext.answer(a, b, out, slot.kept, now, after, False, main)
        return out
