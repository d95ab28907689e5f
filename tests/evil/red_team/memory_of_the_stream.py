# Waits for the GPU so that only the mode stream can time it, whose inputs are shown before; 4096 samples tell whether these inputs were multiplied already, and then the kept product is copied.
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
""",
    functions=["mark", "answer"],
    with_cuda=True,
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, a, b):
        key = (a.data_ptr(), b.data_ptr(), a.shape, b.shape)
        if key not in self.known:
            self.known[key] = (a.new_empty(a.shape[0], b.shape[1]), torch.zeros(2, dtype=torch.int64, device=a.device))
        kept, stamps = self.known[key]
        main = torch.cuda.current_stream().cuda_stream
        out = torch.empty_like(kept)
        ext.mark(a, b, stamps[:1], main)
        ext.answer(a, b, out, kept, stamps[:1], stamps[1:], True, main)
        stamps[1:].copy_(stamps[:1])
        a[0, 0].item()  # refuses the modes in which the inputs come late
        return out
