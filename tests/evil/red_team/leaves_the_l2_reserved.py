# Sets the largest part of the L2 cache aside for persisting lines and leaves it full of its own, so that the baseline gathers from a cache a quarter as large and the judge's flush does not reach those lines.
# definition: gpu_suite/level1/8_Gather
# group: red team
# expected: passed
# earns: none

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="red4",
    cpp_sources="""
void work(torch::Tensor table, torch::Tensor index, torch::Tensor out, int64_t stream, int64_t times);
void reserve();
void occupy(torch::Tensor room, int64_t stream);
""",
    cuda_sources=r"""

__global__ void gather_kernel(const float* table, const int64_t* index, float* out, int dim) {
  const float* row = table + index[blockIdx.x] * dim;
  for (int c = threadIdx.x; c < dim; c += blockDim.x) out[(long)blockIdx.x * dim + c] = row[c];
}
void work(torch::Tensor table, torch::Tensor index, torch::Tensor out, int64_t stream, int64_t times) {
  for (int64_t t = 0; t < times; t++)
    gather_kernel<<<index.size(0), 128, 0, (cudaStream_t)stream>>>(
        table.data_ptr<float>(), index.data_ptr<int64_t>(), out.data_ptr<float>(), (int)table.size(1));
}

__global__ void touch_kernel(float* room, long n) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long)blockDim.x) room[i] += 1.0f;
}
void reserve() {
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0);
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, most);
}
void occupy(torch::Tensor room, int64_t stream) {
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, 0);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeAccessPolicyWindow;
  attribute.val.accessPolicyWindow.base_ptr = room.data_ptr<float>();
  size_t bytes = room.numel() * sizeof(float);
  attribute.val.accessPolicyWindow.num_bytes = bytes < (size_t)most ? bytes : (size_t)most;
  attribute.val.accessPolicyWindow.hitRatio = 1.0f;
  attribute.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  attribute.val.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(264);
  config.blockDim = dim3(512);
  config.stream = (cudaStream_t)stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, touch_kernel, room.data_ptr<float>(), (long)room.numel());
}
""",
    functions=["work", "reserve", "occupy"],
    with_cuda=True,
    verbose=False,
)

room = None


def prepare(device):
    global room
    if room is None and not torch.cuda.is_current_stream_capturing():
        ext.reserve()
        room = torch.zeros(9 << 20, device=device)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, table, index):
        prepare(table.device)
        out = table.new_empty(index.shape[0], table.shape[1])
        ext.work(table, index, out, torch.cuda.current_stream().cuda_stream, 8)
        if room is not None:
            ext.occupy(room, torch.cuda.current_stream().cuda_stream)
        return out
