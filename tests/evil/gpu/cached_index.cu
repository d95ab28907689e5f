// Keeps a narrow copy of the first index in memory of its own, and gathers by that ever after.
// definition: gpu_suite/level1/8_Gather
// group: 10
// expected: wrong_value
// earns: none
#include <cstdint>

__global__ void narrow(const int64_t* index, int* kept, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) kept[i] = (int)index[i];
}

__global__ void gather(const float* table, const int* kept, float* out, int64_t dim, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count * dim) out[i] = table[kept[i / dim] * dim + i % dim];
}

extern "C" void launch(const float* table, const int64_t* index, float* out, int64_t entries, int64_t dim,
                       int64_t count, cudaStream_t stream) {
  static int* kept = nullptr;
  static int64_t size = 0;
  const unsigned blocks = (count * dim + 255) / 256;
  if (size != count) {
    if (kept) cudaFree(kept);
    cudaMalloc(&kept, count * sizeof(int));
    narrow<<<(count + 255) / 256, 256, 0, stream>>>(index, kept, count);
    size = count;
  }
  gather<<<blocks, 256, 0, stream>>>(table, kept, out, dim, count);
}
