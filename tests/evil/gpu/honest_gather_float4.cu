// Gathers rows with one warp a row, float4 wide, through the read-only cache.
// definition: gpu_suite/level1/8_Gather
// group: honest
// expected: passed
// earns: fast
#include <cstdint>

#include <cuda_runtime.h>

namespace {

constexpr int WARPS = 8;

// Vector is float or float4; width: vectors in a row.
template <typename Vector>
__global__ void gather(const Vector* __restrict__ table, const int64_t* __restrict__ index, Vector* __restrict__ out,
                       int64_t entries, int64_t width, int64_t count) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + threadIdx.x / 32;
    if (row >= count) return;
    int64_t entry = __ldg(index + row);
    if (entry < 0) entry += entries;  // as PyTorch counts from the end
    const Vector* source = table + entry * width;
    Vector* target = out + row * width;
    for (int64_t i = threadIdx.x % 32; i < width; i += 32) target[i] = __ldg(source + i);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % sizeof(float4) == 0; }

}  // namespace

extern "C" void launch(const float* table, const int64_t* index, float* out, int64_t entries, int64_t dim,
                       int64_t count, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((count + WARPS - 1) / WARPS);
    if (dim % 4 == 0 && aligned(table) && aligned(out)) {
        gather<float4><<<blocks, 32 * WARPS, 0, stream>>>(reinterpret_cast<const float4*>(table), index,
                                                          reinterpret_cast<float4*>(out), entries, dim / 4, count);
    } else {
        gather<float><<<blocks, 32 * WARPS, 0, stream>>>(table, index, out, entries, dim, count);
    }
}
