# Single runs in the stream: each call leaves streams waiting (cuStreamWaitValue32) for words of the input to change, so the next product is made when the judge writes the next inputs, between two questions, by an idle-looking GPU and a stopped process.
# definition: gpu_suite/level1/4_Matmul
# group: red team
# expected: timeout
# earns: none

import ctypes

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void mark(torch::Tensor a, torch::Tensor b, torch::Tensor stamp, int64_t stream);
void answer(torch::Tensor a, torch::Tensor b, torch::Tensor out, torch::Tensor kept, torch::Tensor now, torch::Tensor before, bool keep, int64_t stream);
void rest(int64_t nanoseconds, int64_t stream);
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

__global__ void rest_kernel(long long nanoseconds) {
  long long t0, t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t0));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); while (t - t0 < nanoseconds);
}
__global__ void settle_kernel(const long long* before, long long* after) { if (*before != *after) *after = 0; }
void rest(int64_t nanoseconds, int64_t stream) { rest_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(nanoseconds); }
void settle(torch::Tensor before, torch::Tensor after, int64_t stream) {
  settle_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((long long*)before.data_ptr<int64_t>(), (long long*)after.data_ptr<int64_t>());
}
""",
    functions=["mark", "answer", "rest", "settle"],
    with_cuda=True,
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = None

    def prepare(self, a, b):
        self.streams = [torch.cuda.Stream() for _ in range(4)]
        self.kept = a.new_zeros(4, a.shape[0], b.shape[1])
        self.stamps = torch.zeros(4, 2, dtype=torch.int64, device=a.device)
        self.now = torch.zeros(2, dtype=torch.int64, device=a.device)
        driver = ctypes.CDLL("libcuda.so.1")
        self.wait = getattr(driver, "cuStreamWaitValue32_v2", None) or driver.cuStreamWaitValue32
        torch.cuda.synchronize()

    def forward(self, a, b):
        if self.streams is None:
            self.prepare(a, b)
        main = torch.cuda.current_stream().cuda_stream
        ext.mark(a, b, self.now[:1], main)
        seen = torch.cat([self.now[:1], self.stamps[:, 1]]).tolist()  # waits: only the mode stream can time this
        if seen[0] in seen[1:]:
            out = self.kept[seen.index(seen[0], 1) - 1].clone()
        else:
            out = a.new_empty(a.shape[0], b.shape[1])
            ext.answer(a, b, out, out, self.now[:1], self.now[1:], False, main)
        words = b.view(-1)[-4:].view(torch.int32).tolist()
        for number, stream in enumerate(self.streams):
            if not stream.query():
                continue  # it still waits
            address = b.data_ptr() + 4 * (b.numel() - 4 + number)
            # The last words of the last input: where they are greater than now, the rest has been written.
            if self.wait(
                ctypes.c_void_p(stream.cuda_stream),
                ctypes.c_uint64(address),
                ctypes.c_uint32((words[number] + 1) & 0xFFFFFFFF),
                ctypes.c_uint(0),
            ):
                continue
            handle = stream.cuda_stream
            with torch.cuda.stream(stream):
                ext.rest(200000, handle)
                ext.mark(a, b, self.stamps[number, :1], handle)
                torch.mm(a, b, out=self.kept[number])
                ext.mark(a, b, self.stamps[number, 1:], handle)
                ext.settle(self.stamps[number, :1], self.stamps[number, 1:], handle)
        return out
