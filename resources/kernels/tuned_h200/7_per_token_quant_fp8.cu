// definition: sglang/level1/7_per_token_quant_fp8
// A block has a row. Its threads keep up to VECTORS vectors each while the row's largest size is found, so that a row is
// read once; what a longer row has beyond that is read again. Blocks have as many threads as that takes, THREADS at
// most. Where there are fewer than ROWS rows for each multiprocessor, a thread has FEW vectors.
// LOADS is where inputs are kept: 0 in all caches, 1 no longer than needed, 2 in L2 alone. STORES: 1 for no longer.
// tune: THREADS in 512, 256, 1024
// tune: VECTORS in 4, 2, 8
// tune: FEW in 1, 2
// tune: ROWS in 2, 1, 4
// tune: LOADS in 0, 1, 2
// tune: STORES in 0, 1
// where: THREADS * VECTORS >= 1024 && THREADS * VECTORS <= 4096
// threads: THREADS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

constexpr float kLargest = 448.0f;  // of e4m3
constexpr int kWarp = 32;
constexpr int kAgain = 4;  // vectors beyond the kept ones that a thread has under way

template <class B>
__device__ inline B read(const B* place) {
  if constexpr (LOADS == 1) {
    return __ldcs(place);
  } else if constexpr (LOADS == 2) {
    return __ldcg(place);
  } else {
    return *place;
  }
}

template <class B>
__device__ inline void write(B* place, B bits) {
  if constexpr (STORES == 1) {
    __stcs(place, bits);
  } else {
    *place = bits;
  }
}

template <class T>
__device__ inline float2 widened(uint32_t word) {
  if constexpr (std::is_same_v<T, __half>) {
    __half2 pair;
    memcpy(&pair, &word, sizeof pair);
    return __half22float2(pair);
  } else {
    return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000u));
  }
}

// Two numbers of 16 bits in two of eight, the first in the lower byte. Larger ones become the largest, NaN stays NaN.
template <class T>
__device__ inline uint32_t two_bytes(uint32_t word, float factor) {
  const float2 pair = widened<T>(word);
  return __nv_cvt_float2_to_fp8x2(make_float2(pair.x * factor, pair.y * factor), __NV_SATFINITE, __NV_E4M3);
}

// Sizes of both numbers of a word. Without their sign, numbers of 16 bits are ordered as their bits are, NaN last.
__device__ inline uint32_t larger(uint32_t most, uint32_t word) { return __vmaxu2(most, word & 0x7FFF7FFFu); }

// kWide elements, as one load brings them: 8, 4, or 1 where rows begin anywhere.
template <int kWide>
struct Vector;

template <>
struct Vector<8> {
  uint4 words = {};

  __device__ void load(const uint16_t* place) { words = read(reinterpret_cast<const uint4*>(place)); }
  __device__ uint32_t size(uint32_t most) const {
    return larger(larger(larger(larger(most, words.x), words.y), words.z), words.w);
  }
  template <class T>
  __device__ void store(uint8_t* place, float factor) const {
    uint2 bytes;
    bytes.x = two_bytes<T>(words.x, factor) | two_bytes<T>(words.y, factor) << 16;
    bytes.y = two_bytes<T>(words.z, factor) | two_bytes<T>(words.w, factor) << 16;
    write(reinterpret_cast<uint2*>(place), bytes);
  }
};

template <>
struct Vector<4> {
  uint2 words = {};

  __device__ void load(const uint16_t* place) { words = read(reinterpret_cast<const uint2*>(place)); }
  __device__ uint32_t size(uint32_t most) const { return larger(larger(most, words.x), words.y); }
  template <class T>
  __device__ void store(uint8_t* place, float factor) const {
    write(reinterpret_cast<uint32_t*>(place), two_bytes<T>(words.x, factor) | two_bytes<T>(words.y, factor) << 16);
  }
};

template <>
struct Vector<1> {
  uint32_t word = 0;

  __device__ void load(const uint16_t* place) { word = read(place); }
  __device__ uint32_t size(uint32_t most) const { return larger(most, word); }
  template <class T>
  __device__ void store(uint8_t* place, float factor) const {
    write(place, static_cast<uint8_t>(two_bytes<T>(word, factor)));
  }
};

// The largest of a block's threads; `shared` has room for all warps.
__device__ inline uint32_t largest_of_block(uint32_t mine, uint32_t* shared) {
  const uint32_t of_warp = __reduce_max_sync(~0u, mine), lane = threadIdx.x % kWarp;
  if (blockDim.x == kWarp) return of_warp;
  if (lane == 0) shared[threadIdx.x / kWarp] = of_warp;
  __syncthreads();
  return __reduce_max_sync(~0u, lane < blockDim.x / kWarp ? shared[lane] : 0u);
}

template <class T, int kWide>
__global__ void __launch_bounds__(THREADS) quantise_rows(const uint16_t* input, uint8_t* quantised, float* scales,
                                                         uint32_t vectors) {
  __shared__ uint32_t shared[THREADS / kWarp];
  const uint64_t start = static_cast<uint64_t>(blockIdx.x) * vectors * kWide;
  const uint16_t* const from = input + start;
  uint8_t* const to = quantised + start;
  const uint32_t beyond = threadIdx.x + VECTORS * blockDim.x;
  Vector<kWide> kept[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    const uint32_t at = threadIdx.x + i * blockDim.x;
    if (at < vectors) kept[i].load(from + uint64_t{at} * kWide);
  }
  uint32_t most = 0;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) most = kept[i].size(most);
#pragma unroll 1
  for (uint32_t at = beyond; at < vectors; at += kAgain * blockDim.x) {
    Vector<kWide> more[kAgain];
#pragma unroll
    for (int i = 0; i < kAgain; ++i) {
      if (at + i * blockDim.x < vectors) more[i].load(from + uint64_t{at + i * blockDim.x} * kWide);
    }
#pragma unroll
    for (int i = 0; i < kAgain; ++i) most = more[i].size(most);
  }
  most = largest_of_block(max(most & 0xFFFFu, most >> 16), shared);

  const float largest = widened<T>(most).x, factor = __fdiv_rn(kLargest, largest);
  if (threadIdx.x == 0) scales[blockIdx.x] = __fdiv_rn(largest, kLargest);
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    const uint32_t at = threadIdx.x + i * blockDim.x;
    if (at < vectors) kept[i].template store<T>(to + uint64_t{at} * kWide, factor);
  }
#pragma unroll 1
  for (uint32_t at = beyond; at < vectors; at += blockDim.x) {
    Vector<kWide> again;
    again.load(from + uint64_t{at} * kWide);
    again.template store<T>(to + uint64_t{at} * kWide, factor);
  }
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <class T>
void launch(const T* input, __nv_fp8_e4m3* quantised, float* scale, int64_t tokens, int64_t hidden,
            cudaStream_t stream) {
  if (tokens <= 0 || hidden <= 0) return;
  const auto* from = reinterpret_cast<const uint16_t*>(input);
  auto* to = reinterpret_cast<uint8_t*>(quantised);
  // A vector is loaded from a multiple of twice as many bytes as it has elements, and stored to one of as many.
  const uint64_t places = reinterpret_cast<uintptr_t>(from) | 2 * reinterpret_cast<uintptr_t>(to) | 2 * hidden;
  const int64_t wide = places % 16 == 0 ? 8 : places % 8 == 0 ? 4 : 1, vectors = hidden / wide;
  const int64_t each = tokens < ROWS * multiprocessors() ? FEW : VECTORS;
  const int64_t wanted = kWarp * ceil_div(vectors, kWarp * each);
  const auto threads = static_cast<unsigned>(std::min<int64_t>(wanted, THREADS));
  const auto kernel = wide == 8 ? quantise_rows<T, 8> : wide == 4 ? quantise_rows<T, 4> : quantise_rows<T, 1>;
  const auto blocks = static_cast<unsigned>(tokens), size = static_cast<unsigned>(vectors);
  kernel<<<blocks, threads, 0, stream>>>(from, to, scale, size);
}

}  // namespace

extern "C" void launch_float16(const __half* input, __nv_fp8_e4m3* quantised, float* scale, int64_t tokens,
                               int64_t hidden, cudaStream_t stream) {
  launch(input, quantised, scale, tokens, hidden, stream);
}

extern "C" void launch_bfloat16(const __nv_bfloat16* input, __nv_fp8_e4m3* quantised, float* scale, int64_t tokens,
                                int64_t hidden, cudaStream_t stream) {
  launch(input, quantised, scale, tokens, hidden, stream);
}
