// definition: sglang/level1/9_topk_softmax
// The chosen weights do not depend on the experts that are left: exponentials of those chosen are divided by their sum.
// So a row is read once, and the rest is finding its largest. A lane has ELEMENTS of a row of float32, half as many of
// sixteen bits, and as many lanes as that takes share it. Each number becomes one integer with its place in the lowest
// bits, so that a comparison moves both. Lanes sort groups as large as what is chosen, keep the larger half of two, and
// do the same with each other's. Where this gives fewer than WARPS warps for each multiprocessor, a lane has no more
// than FEW numbers, and a block SMALL threads.
// LOADS is where logits are kept: 0 in all caches, 1 no longer than needed, 2 in L2 alone.
// tune: THREADS in 128, 64, 256
// tune: ELEMENTS in 64, 32, 16
// tune: SMALL in 32, 64, 128
// tune: FEW in 8, 16
// tune: WARPS in 2, 8
// tune: LOADS in 0, 1, 2
// where: SMALL <= THREADS
// threads: THREADS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

constexpr int kWarp = 32;
constexpr int kMostExperts = 256;  // of a row that lanes share; others have a warp
constexpr int kMostChosen = 8;

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

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(__half value) { return __half2float(value); }
__device__ inline float widened(__nv_bfloat16 value) { return __bfloat162float(value); }

constexpr int log2_of(int power) { return power == 1 ? 0 : 1 + log2_of(power / 2); }

// A number's key: its bits, ordered as signed integers are, above its place in the row. Places count down, so that of
// equal numbers the first is the largest. The place has a vector's number, a lane's and that of an element; a lane's is
// put in last, when few keys are left. Sixteen bits leave room for all of it. Those of float32 do not: its key has the
// upper 24 bits, and rows where they decide nothing are done again with all of them.
template <class T, int kSlots>
struct Keys {
  static constexpr bool kExact = sizeof(T) == 2;
  static constexpr int kWide = 16 / sizeof(T), kVectors = kSlots / kWide;
  static constexpr uint32_t kPlace = kExact ? 0xFFFF : 0xFF, kNumber = ~kPlace;
  static constexpr int kLaneAt = kExact ? 3 : log2_of(kSlots), kVectorAt = kExact ? 8 : 2;

  static __device__ int32_t of(const uint4* vectors, int slot) {
    const int vector = slot / kWide, element = slot % kWide, at = element * static_cast<int>(sizeof(T)) / 4;
    const uint4& of = vectors[vector];
    const uint32_t word = at == 0 ? of.x : at == 1 ? of.y : at == 2 ? of.z : of.w;
    const uint32_t bits = kExact && element % 2 == 0 ? word << 16 : word & kNumber;
    const uint32_t place = kPlace ^ static_cast<uint32_t>(vector << kVectorAt | element);
    return ordered(static_cast<int32_t>(bits | place));
  }

  // Negative numbers are the larger the smaller their bits are; the same again undoes it.
  static __device__ int32_t ordered(int32_t key) {
    return key ^ (key >> 31 & static_cast<int32_t>(kNumber & 0x7FFFFFFFu));
  }

  static __device__ int32_t with_lane(int32_t key, uint32_t lane) {
    return key ^ static_cast<int32_t>(lane << kLaneAt);
  }

  static __device__ uint32_t expert(int32_t key, int lanes_log2) {
    const uint32_t place = ~static_cast<uint32_t>(key) & kPlace;
    const uint32_t lane = place >> kLaneAt & (kWarp - 1), vector = place >> kVectorAt & (kVectors - 1);
    return (vector << lanes_log2 | lane) * kWide | (place & (kWide - 1));
  }

  // Of keys of sixteen bits alone.
  static __device__ float number(int32_t key) {
    const auto bits = static_cast<uint16_t>(static_cast<uint32_t>(ordered(key)) >> 16);
    T value;
    memcpy(&value, &bits, sizeof value);
    return widened(value);
  }

  static __device__ bool undecided(int32_t one, int32_t other) {
    return ((static_cast<uint32_t>(one) ^ static_cast<uint32_t>(other)) & kNumber) == 0;
  }
};

__device__ inline void exchange(int32_t& first, int32_t& second) {
  const int32_t larger = first > second ? first : second;
  second = first > second ? second : first;
  first = larger;
}

// Batcher's: keys kFrom, kFrom + kStep, ... of kCount, whose halves are in order.
template <int kFrom, int kCount, int kStep>
__device__ inline void merge_halves(int32_t* keys) {
  if constexpr (2 * kStep < kCount) {
    merge_halves<kFrom, kCount, 2 * kStep>(keys);
    merge_halves<kFrom + kStep, kCount, 2 * kStep>(keys);
#pragma unroll
    for (int i = kFrom + kStep; i + kStep < kFrom + kCount; i += 2 * kStep) exchange(keys[i], keys[i + kStep]);
  } else {
    exchange(keys[kFrom], keys[kFrom + kStep]);
  }
}

template <int kFrom, int kCount>
__device__ inline void sort(int32_t* keys) {
  if constexpr (kCount > 1) {
    sort<kFrom, kCount / 2>(keys);
    sort<kFrom + kCount / 2, kCount / 2>(keys);
    merge_halves<kFrom, kCount, 1>(keys);
  }
}

// The largest of a row so far, in order, and the largest that was left out, which is known where kLost says so.
template <int kCount, bool kLost>
struct Largest {
  int32_t keys[kCount];
  int32_t lost = INT32_MIN;

  // Both are in order: of one's first and the other's last the larger stays, and so on, which rise and then fall.
  __device__ void join(const int32_t* others) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int32_t mine = keys[i], theirs = others[kCount - 1 - i];
      keys[i] = mine > theirs ? mine : theirs;
      if constexpr (kLost) leave_out(mine > theirs ? theirs : mine);
    }
#pragma unroll
    for (int half = kCount / 2; half; half /= 2) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if ((i & half) == 0) exchange(keys[i], keys[i + half]);
      }
    }
  }

  __device__ void leave_out(int32_t key) { lost = key > lost ? key : lost; }

  __device__ void join_lane(int distance) {
    int32_t others[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) others[i] = __shfl_xor_sync(~0u, keys[i], distance);
    if constexpr (kLost) leave_out(__shfl_xor_sync(~0u, lost, distance));
    join(others);
  }
};

// Of a row's numbers in this lane.
template <class T, int kSlots, int kCount, bool kLost>
__device__ inline void find(const uint4* vectors, Largest<kCount, kLost>& largest) {
  using K = Keys<T, kSlots>;
#pragma unroll
  for (int slot = 0; slot < kSlots; slot += kCount) {
    int32_t group[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) group[i] = K::of(vectors, slot + i);
    sort<0, kCount>(group);
    if (slot == 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) largest.keys[i] = group[i];
    } else {
      largest.join(group);
    }
  }
}

// All bits of a number, ordered as integers are, above its place, which counts down.
__device__ inline uint64_t whole_key(float value, uint32_t expert) {
  const uint32_t bits = __float_as_uint(value);
  const uint32_t ordered = bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
  return uint64_t{ordered} << 32 | ~expert;
}

__device__ inline float number_of(uint64_t key) {
  const auto ordered = static_cast<uint32_t>(key >> 32);
  return __uint_as_float(ordered & 0x80000000u ? ordered ^ 0x80000000u : ~ordered);
}

// The largest key of a row below another; a warp has the row.
template <class T>
__device__ inline uint64_t next_key(const T* row, uint32_t experts, uint64_t below) {
  uint64_t most = 0;
  for (uint32_t expert = threadIdx.x % kWarp; expert < experts; expert += kWarp) {
    const uint64_t key = whole_key(widened(row[expert]), expert);
    if (key < below && key > most) most = key;
  }
#pragma unroll
  for (int distance = kWarp / 2; distance; distance /= 2) {
    const uint64_t other = __shfl_xor_sync(~0u, most, distance);
    most = other > most ? other : most;
  }
  return most;
}

// A row of any size, one of the chosen after the other. It is read from caches for each of them.
template <class T>
__device__ inline void choose_slowly(const T* row, float* weights, int32_t* indices, uint32_t experts,
                                     uint32_t chosen) {
  const uint32_t lane = threadIdx.x % kWarp;
  uint64_t key = ~uint64_t{0};
  float first = 0, sum = 0;
#pragma unroll 1
  for (uint32_t i = 0; i < chosen; ++i) {
    key = next_key(row, experts, key);
    if (i == 0) first = number_of(key);
    const float share = __expf(number_of(key) - first);
    sum += share;
    if (i % kWarp != lane) continue;
    weights[i] = share;
    indices[i] = static_cast<int32_t>(~static_cast<uint32_t>(key));
  }
  const float factor = __fdividef(1.0f, sum);
#pragma unroll 1
  for (uint32_t i = lane; i < chosen; i += kWarp) weights[i] *= factor;
}

template <class T>
__global__ void __launch_bounds__(THREADS) choose_any(const T* logits, float* weights, int32_t* indices,
                                                      uint64_t tokens, uint32_t experts, uint32_t chosen) {
  const uint64_t row = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (row >= tokens) return;
  choose_slowly(logits + row * experts, weights + row * chosen, indices + row * chosen, experts, chosen);
}

// Leaves the values of this lane in front, which are neighbours, of all that each of the row's lanes has.
template <int kCount, class V>
__device__ inline void take_share(V* values, uint32_t lane, uint32_t share) {
#pragma unroll
  for (int half = kCount / 2; half; half /= 2) {
    if (share > half) continue;
    const bool upper = (lane * share & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) values[i] = upper ? values[i + half] : values[i];
  }
}

// A lane's share of what a row gives, two at a time where rows begin at even places.
template <int kCount>
__device__ inline void write_share(float* weights, int32_t* indices, const float* shares, const int32_t* experts,
                                   uint32_t from, uint32_t share, uint32_t chosen) {
  if (kCount > 1 && share > 1 && chosen % 2 == 0) {
#pragma unroll
    for (int i = 0; i + 1 < kCount; i += 2) {
      if (i >= share || from + i >= chosen) continue;
      *reinterpret_cast<float2*>(weights + from + i) = make_float2(shares[i], shares[i + 1]);
      *reinterpret_cast<int2*>(indices + from + i) = make_int2(experts[i], experts[i + 1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i >= share || from + i >= chosen) continue;
      weights[from + i] = shares[i];
      indices[from + i] = experts[i];
    }
  }
}

// Whether the upper bits do not decide who is chosen, and in which order.
template <class K, int kCount, bool kLost>
__device__ inline bool undecided(const Largest<kCount, kLost>& largest, uint32_t chosen) {
  bool found = chosen == kCount && K::undecided(largest.keys[kCount - 1], largest.lost);
#pragma unroll
  for (int i = 0; i + 1 < kCount; ++i) found |= i < chosen && K::undecided(largest.keys[i], largest.keys[i + 1]);
  return found;
}

// 2^lanes_log2 lanes have a row, kSlots numbers each; kCount is not less than `chosen`. Without the bounds' second
// number the compiler saves registers and asks for few vectors before it needs them.
template <class T, int kSlots, int kCount>
__global__ void __launch_bounds__(THREADS, 1) choose(const T* logits, float* weights, int32_t* indices,
                                                     uint64_t tokens, int lanes_log2, uint32_t chosen) {
  using K = Keys<T, kSlots>;
  const uint32_t lanes = 1u << lanes_log2, lane = threadIdx.x & (lanes - 1), experts = kSlots << lanes_log2;
  const uint64_t wanted = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) >> lanes_log2;
  const uint64_t row = wanted < tokens ? wanted : tokens - 1;  // lanes beyond the end take part, and write nothing
  const T* const from = logits + row * experts;
  uint4 vectors[K::kVectors];
#pragma unroll
  for (int i = 0; i < K::kVectors; ++i) vectors[i] = read(reinterpret_cast<const uint4*>(from) + (i * lanes + lane));

  Largest<kCount, !K::kExact> largest;
  find<T, kSlots>(vectors, largest);
#pragma unroll
  for (int i = 0; i < kCount; ++i) largest.keys[i] = K::with_lane(largest.keys[i], lane);
#pragma unroll 1
  for (uint32_t distance = 1; distance < lanes; distance *= 2) largest.join_lane(distance);

  int32_t found[kCount];
  float shares[kCount], sum = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    found[i] = static_cast<int32_t>(K::expert(largest.keys[i], lanes_log2));
    if constexpr (K::kExact) {
      shares[i] = K::number(largest.keys[i]);
    } else {
      shares[i] = from[found[i]];
    }
  }
#pragma unroll
  for (int i = kCount - 1; i >= 0; --i) {
    shares[i] = __expf(shares[i] - shares[0]);
    if (i < chosen) sum += shares[i];
  }
  const float factor = __fdividef(1.0f, sum);
#pragma unroll
  for (int i = 0; i < kCount; ++i) shares[i] *= factor;

  bool whole = true;
  if constexpr (!K::kExact) {
    const bool again = wanted < tokens && lane == 0 && undecided<K>(largest, chosen);
    const unsigned rows = __ballot_sync(~0u, again), mine = threadIdx.x % kWarp;
    whole = (rows >> (mine - lane) & 1) == 0;
#pragma unroll 1
    for (uint32_t first = 0; rows != 0 && first < kWarp; first += lanes) {
      if ((rows >> first & 1) == 0) continue;
      const uint64_t which = __shfl_sync(~0u, row, first);
      choose_slowly(logits + which * experts, weights + which * chosen, indices + which * chosen, experts, chosen);
    }
  }
  const uint32_t share = lanes < kCount ? kCount >> lanes_log2 : 1;
  take_share<kCount>(shares, lane, share);
  take_share<kCount>(found, lane, share);
  if (wanted < tokens && whole && lane < kCount) {
    write_share<kCount>(weights + row * chosen, indices + row * chosen, shares, found, lane * share, share, chosen);
  }
}

template <class T>
using Kernel = void (*)(const T*, float*, int32_t*, uint64_t, int, uint32_t);

template <class T, int kSlots>
Kernel<T> kernel_with(int64_t chosen) {
  return chosen == 1 ? choose<T, kSlots, 1> : chosen == 2 ? choose<T, kSlots, 2> : chosen <= 4 ? choose<T, kSlots, 4>
                                                                                               : choose<T, kSlots, 8>;
}

template <class T>
constexpr int kMostSlots = sizeof(T) == 2 ? ELEMENTS / 2 : ELEMENTS;

template <class T, int kSlots = 8>
Kernel<T> kernel_for(int64_t slots, int64_t chosen) {
  if constexpr (kSlots < kMostSlots<T>) {
    if (slots > kSlots) return kernel_for<T, 2 * kSlots>(slots, chosen);
  }
  return kernel_with<T, kSlots>(chosen);
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <class T>
void launch(const T* logits, float* weights, int32_t* indices, int64_t tokens, int64_t experts, int64_t chosen,
            cudaStream_t stream) {
  if (tokens <= 0 || experts <= 0 || chosen <= 0) return;
  const auto rows = static_cast<uint64_t>(tokens);
  const auto each = static_cast<unsigned>(chosen);
  const uintptr_t places = reinterpret_cast<uintptr_t>(logits) |
                           2 * (reinterpret_cast<uintptr_t>(weights) | reinterpret_cast<uintptr_t>(indices));
  const bool power = (experts & (experts - 1)) == 0 && experts >= kMostChosen && experts <= kMostExperts;
  if (!power || chosen > kMostChosen || places % 16 != 0) {
    const auto blocks = static_cast<unsigned>(ceil_div(tokens, THREADS / kWarp));
    choose_any<T><<<blocks, THREADS, 0, stream>>>(logits, weights, indices, rows, static_cast<unsigned>(experts), each);
    return;
  }
  const int64_t most = std::min<int64_t>(experts, kMostSlots<T>);
  const bool few = tokens * (experts / most) < WARPS * kWarp * multiprocessors();
  const int64_t slots = few ? std::min<int64_t>(most, FEW) : most;
  const unsigned threads = few ? SMALL : THREADS;
  const auto blocks = static_cast<unsigned>(ceil_div(tokens * (experts / slots), threads));
  const int lanes_log2 = log2_of(static_cast<int>(experts / slots));
  const Kernel<T> kernel = kernel_for<T>(slots, chosen);
  kernel<<<blocks, threads, 0, stream>>>(logits, weights, indices, rows, lanes_log2, each);
}

}  // namespace

extern "C" void launch_float16(const __half* logits, float* weights, int32_t* indices, int64_t tokens, int64_t experts,
                               int64_t chosen, cudaStream_t stream) {
  launch(logits, weights, indices, tokens, experts, chosen, stream);
}

extern "C" void launch_bfloat16(const __nv_bfloat16* logits, float* weights, int32_t* indices, int64_t tokens,
                                int64_t experts, int64_t chosen, cudaStream_t stream) {
  launch(logits, weights, indices, tokens, experts, chosen, stream);
}

extern "C" void launch_float32(const float* logits, float* weights, int32_t* indices, int64_t tokens, int64_t experts,
                               int64_t chosen, cudaStream_t stream) {
  launch(logits, weights, indices, tokens, experts, chosen, stream);
}
