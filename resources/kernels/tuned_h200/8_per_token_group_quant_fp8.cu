// definition: sglang/level1/8_per_token_group_quant_fp8
// Rows are whole groups, so groups are numbered through all rows and the kernel knows of none. A group has LANES lanes
// of a warp, whose vectors of 16 bytes alternate; a group is read once and stays in registers. A lane asks for its
// vectors of GROUPS groups at once. Where blocks of THREADS would be fewer than WAVES for each multiprocessor, it has
// one group, and blocks have SMALL threads.
// HINTS is what caches keep no longer than needed: 0 nothing, 1 inputs, 2 results too; 3 keeps inputs in L2 alone.
// tune: THREADS in 256, 128, 512
// tune: GROUPS in 2, 4, 1
// tune: LANES in 16, 8
// tune: SMALL in 128, 64
// tune: WAVES in 2, 1, 4
// tune: HINTS in 1, 0, 2, 3
// where: THREADS * GROUPS <= 1024
// where: LANES == 16 || GROUPS <= 2
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
constexpr float kLeast = 1e-10f;    // size of a group's largest number, so that its scale is not zero
constexpr int kGroup = 128;
constexpr int kWarp = 32;
constexpr int kWide = 8;                        // elements of a vector
constexpr int kSideBySide = kWarp / LANES;      // groups that a warp has at a time
constexpr int kShare = kGroup / kWide / LANES;  // vectors of a group that a lane has

template <class B>
__device__ inline B read(const B* place) {
  if constexpr (HINTS == 3) {
    return __ldcg(place);
  } else if constexpr (HINTS == 0) {
    return *place;
  } else {
    return __ldcs(place);
  }
}

template <class B>
__device__ inline void write(B* place, B bits) {
  if constexpr (HINTS == 2) {
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

// Eight elements. Where tensors begin anywhere they are loaded and stored one by one.
template <bool kAligned>
struct Vector {
  uint4 words = {};

  __device__ void load(const uint16_t* place) {
    if constexpr (kAligned) {
      words = read(reinterpret_cast<const uint4*>(place));
    } else {
      words = make_uint4(pair(place), pair(place + 2), pair(place + 4), pair(place + 6));
    }
  }
  __device__ static uint32_t pair(const uint16_t* place) {
    return read(place) | static_cast<uint32_t>(read(place + 1)) << 16;
  }
  __device__ uint32_t size(uint32_t most) const {
    return larger(larger(larger(larger(most, words.x), words.y), words.z), words.w);
  }
  template <class T>
  __device__ void store(uint8_t* place, float factor) const {
    uint2 bytes;
    bytes.x = two_bytes<T>(words.x, factor) | two_bytes<T>(words.y, factor) << 16;
    bytes.y = two_bytes<T>(words.z, factor) | two_bytes<T>(words.w, factor) << 16;
    if constexpr (kAligned) {
      write(reinterpret_cast<uint2*>(place), bytes);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        write(place + i, static_cast<uint8_t>(bytes.x >> (8 * i)));
        write(place + i + 4, static_cast<uint8_t>(bytes.y >> (8 * i)));
      }
    }
  }
};

// Largest sizes of the groups whose lanes these are, from sizes of even and odd places. Two groups go in one word: both
// ends of `one`, then both of `other`.
__device__ inline uint32_t largest_of_lanes(uint32_t one, uint32_t other) {
  uint32_t most = __vmaxu2((one & 0xFFFFu) | other << 16, one >> 16 | (other & 0xFFFF0000u));
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    most = __vmaxu2(most, __shfl_xor_sync(~0u, most, distance));
  }
  return most;
}

// Bits of positive floats are ordered as the floats are, and NaN stays NaN, which fmaxf would drop.
__device__ inline float scale_of(float largest) {
  return __uint_as_float(max(__float_as_uint(largest), __float_as_uint(kLeast))) * (1.0f / kLargest);
}

// A warp has kGroups times kSideBySide groups in a row, so that it stores their scales together.
template <class T, int kGroups, bool kAligned>
__global__ void __launch_bounds__(THREADS) quantise_groups(const uint16_t* input, uint8_t* quantised, float* scales,
                                                           uint32_t count) {
  const uint32_t warp = blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  const uint32_t lane = threadIdx.x % kWarp, mine = lane % LANES;
  const uint32_t first = warp * (kGroups * kSideBySide) + lane / LANES;
  const uint64_t start = uint64_t{first} * kGroup + mine * kWide;
  const uint16_t* const from = input + start;
  uint8_t* const to = quantised + start;
  Vector<kAligned> kept[kGroups][kShare];
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    if (first + i * kSideBySide >= count) continue;
#pragma unroll
    for (int j = 0; j < kShare; ++j) kept[i][j].load(from + i * kSideBySide * kGroup + j * LANES * kWide);
  }

  uint32_t sizes[kGroups + 1] = {};
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
#pragma unroll
    for (int j = 0; j < kShare; ++j) sizes[i] = kept[i][j].size(sizes[i]);
  }
  float scale[kGroups + 1];
#pragma unroll
  for (int i = 0; i < kGroups; i += 2) {
    const float2 largest = widened<T>(largest_of_lanes(sizes[i], sizes[i + 1]));
    scale[i] = scale_of(largest.x);
    scale[i + 1] = scale_of(largest.y);
  }

  // No finite scale is so small or large that its approximate reciprocal is zero or infinite.
  float stored = scale[0];
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    if (mine == i) stored = scale[i];
    if (first + i * kSideBySide >= count) continue;
    const float factor = __fdividef(1.0f, scale[i]);
#pragma unroll
    for (int j = 0; j < kShare; ++j) {
      kept[i][j].template store<T>(to + i * kSideBySide * kGroup + j * LANES * kWide, factor);
    }
  }
  const uint32_t group = first + mine * kSideBySide;
  if (mine < kGroups && group < count) scales[group] = stored;
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// Groups are numbered in 32 bits, which is enough for 1 TiB of them.
template <class T, bool kAligned>
void launch_groups(const uint16_t* input, uint8_t* quantised, float* scale, int64_t groups, cudaStream_t stream) {
  const auto count = static_cast<uint32_t>(groups);
  const auto blocks = static_cast<unsigned>(ceil_div(groups, THREADS / LANES * GROUPS));
  if (blocks < WAVES * multiprocessors()) {
    const auto more = static_cast<unsigned>(ceil_div(groups, SMALL / LANES));
    quantise_groups<T, 1, kAligned><<<more, SMALL, 0, stream>>>(input, quantised, scale, count);
  } else {
    quantise_groups<T, GROUPS, kAligned><<<blocks, THREADS, 0, stream>>>(input, quantised, scale, count);
  }
}

template <class T>
void launch(const T* input, __nv_fp8_e4m3* quantised, float* scale, int64_t count, cudaStream_t stream) {
  if (count <= 0) return;
  const auto* from = reinterpret_cast<const uint16_t*>(input);
  auto* to = reinterpret_cast<uint8_t*>(quantised);
  // A vector is loaded from a multiple of 16 bytes and stored to one of 8.
  if ((reinterpret_cast<uintptr_t>(from) | 2 * reinterpret_cast<uintptr_t>(to)) % 16 == 0) {
    launch_groups<T, true>(from, to, scale, count, stream);
  } else {
    launch_groups<T, false>(from, to, scale, count, stream);
  }
}

}  // namespace

extern "C" void launch_float16(const __half* input, __nv_fp8_e4m3* quantised, float* scale, int64_t tokens,
                               int64_t hidden, int64_t groups, cudaStream_t stream) {
  launch(input, quantised, scale, tokens * groups, stream);
}

extern "C" void launch_bfloat16(const __nv_bfloat16* input, __nv_fp8_e4m3* quantised, float* scale, int64_t tokens,
                                int64_t hidden, int64_t groups, cudaStream_t stream) {
  launch(input, quantised, scale, tokens * groups, stream);
}
