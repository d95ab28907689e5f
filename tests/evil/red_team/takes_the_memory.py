# Takes all but 160 MiB of the GPU's memory at its first call, so that the eager baseline has to free and allocate its outputs anew inside its own time.
# definition: gpu_suite/level1/3_Softmax
# group: red team
# expected: out_of_memory | passed
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times);
""",
    cuda_sources=r"""
__global__ void softmax_kernel(const float* x, float* out, int columns) {
  __shared__ float part[256];
  const float* row = x + (long)blockIdx.x * columns;
  float* to = out + (long)blockIdx.x * columns;
  int me = threadIdx.x;
  float m = -INFINITY;
  for (int c = me; c < columns; c += 256) m = fmaxf(m, row[c]);
  part[me] = m;
  __syncthreads();
  for (int h = 128; h; h /= 2) { if (me < h) part[me] = fmaxf(part[me], part[me + h]); __syncthreads(); }
  m = part[0];
  __syncthreads();
  float s = 0;
  for (int c = me; c < columns; c += 256) s += expf(row[c] - m);
  part[me] = s;
  __syncthreads();
  for (int h = 128; h; h /= 2) { if (me < h) part[me] += part[me + h]; __syncthreads(); }
  s = 1.0f / part[0];
  for (int c = me; c < columns; c += 256) to[c] = expf(row[c] - m) * s;
}
void work(torch::Tensor x, torch::Tensor out, int64_t stream, int64_t times) {
  for (int64_t t = 0; t < times; t++)
    softmax_kernel<<<x.size(0), 256, 0, (cudaStream_t)stream>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
}
""",
    functions=["work"],
    with_cuda=True,
    verbose=False,
)

held = []


def take():
    """Leaves less than two outputs of the baseline."""
    if held or torch.cuda.is_current_stream_capturing():
        return
    for _ in range(64):
        free, _ = torch.cuda.mem_get_info()
        if free < 200 << 20:
            break
        try:
            held.append(torch.empty(min(free - (160 << 20), 4 << 30), dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            break


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        ext.work(x, out, torch.cuda.current_stream().cuda_stream, 8)
        take()
        return out
