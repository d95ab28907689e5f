// definition: sglang/level1/6_rotary_embedding
// A thread has the same 16 bytes of both halves of up to HEADS heads of a token. It asks for all of them before it has
// the token's position, and reads the cosines and sines once for all of its heads. Where the blocks would be fewer than
// WAVES for each multiprocessor, blocks have SMALL threads with one head each.
// Two loads wait for each other: a position, then its row of the table. AHEAD: 1 has every block ask for its share of a
// small table while it waits, so that rows come from L2.
// HINTS is what is kept no longer than needed: 1 for heads that are read, 2 for those that are written, 3 for both.
// tune: THREADS in 256, 128, 512
// tune: HEADS in 4, 2, 8
// tune: SMALL in 128, 64
// tune: WAVES in 2, 1, 4
// tune: HINTS in 1, 0, 3, 2
// tune: AHEAD in 1, 0
// where: THREADS * HEADS <= 1024
// threads: THREADS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

constexpr int64_t kSector = 32;  // bytes that L2 fetches at a time

// Division by what only the host knows, exact for all numbers below 2^31.
struct Divisor {
  uint32_t factor, shift = 0;

  explicit Divisor(uint32_t divisor) {
    while ((uint64_t{1} << shift) < divisor) ++shift;
    factor = static_cast<uint32_t>(((uint64_t{1} << (31 + shift)) + divisor - 1) / divisor);
  }

  __device__ uint32_t divide(uint32_t number) const { return __umulhi(2 * number, factor) >> shift; }
};

// A vector's bits as a load brings them: 16 bytes, or one element where halves begin anywhere.
template <bool kWide>
using Bits = std::conditional_t<kWide, uint4, uint16_t>;

template <bool kWide>
constexpr int kNumbers = kWide ? 8 : 1;

template <class B>
__device__ inline B read(const B* place) {
  if constexpr (HINTS % 2 == 1) {
    return __ldcs(place);
  } else {
    return *place;
  }
}

template <class B>
__device__ inline void write(B* place, B bits) {
  if constexpr (HINTS / 2 == 1) {
    __stcs(place, bits);
  } else {
    *place = bits;
  }
}

__device__ inline void ask_for(const char* place) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(place));
#endif
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

template <class T>
__device__ inline uint32_t narrowed(float x, float y) {
  std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162> pair;
  if constexpr (std::is_same_v<T, __half>) {
    pair = __floats2half2_rn(x, y);
  } else {
    pair = __floats2bfloat162_rn(x, y);
  }
  uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

// Cosines or sines of a vector's elements.
template <int kCount>
struct Floats {
  float at[kCount];

  __device__ explicit Floats(const float* place) {
    if constexpr (kCount == 1) {
      at[0] = *place;
    } else {
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(place + i);
        at[i] = four.x, at[i + 1] = four.y, at[i + 2] = four.z, at[i + 3] = four.w;
      }
    }
  }
};

// Two numbers of each half, by the angles whose cosines and sines these are.
template <class T>
__device__ inline void turn(uint32_t& first, uint32_t& second, const float* cos, const float* sin) {
  const float2 x = widened<T>(first), y = widened<T>(second);
  first = narrowed<T>(x.x * cos[0] - y.x * sin[0], x.y * cos[1] - y.y * sin[1]);
  second = narrowed<T>(y.x * cos[0] + x.x * sin[0], y.y * cos[1] + x.y * sin[1]);
}

template <class T>
__device__ inline void turn(uint4& first, uint4& second, const Floats<8>& cos, const Floats<8>& sin) {
  turn<T>(first.x, second.x, cos.at, sin.at);
  turn<T>(first.y, second.y, cos.at + 2, sin.at + 2);
  turn<T>(first.z, second.z, cos.at + 4, sin.at + 4);
  turn<T>(first.w, second.w, cos.at + 6, sin.at + 6);
}

template <class T>
__device__ inline void turn(uint16_t& first, uint16_t& second, const Floats<1>& cos, const Floats<1>& sin) {
  const float twice[2][2] = {{cos.at[0], cos.at[0]}, {sin.at[0], sin.at[0]}};
  uint32_t x = first, y = second;
  turn<T>(x, y, twice[0], twice[1]);
  first = static_cast<uint16_t>(x), second = static_cast<uint16_t>(y);
}

// A unit is a thread's: one for each vector of half a head, then the next group of heads, then the next token. A group
// has every `groups`th head, so that neighbours read side by side; the keys' heads follow the queries'.
template <class B>
struct Work {
  const B *q, *k;
  B *q_out, *k_out;
  const float* cos_sin;
  const int64_t* position;
  uint32_t units, half, groups, q_heads, k_heads;
  Divisor by_token, by_half;
  uint32_t sectors, share;  // of the table, and those that one block asks for
};

template <class B>
__device__ inline void ask_for_share(const Work<B>& work) {
  const uint32_t sector = blockIdx.x * work.share + threadIdx.x;
  if (threadIdx.x >= work.share || sector >= work.sectors) return;
  ask_for(reinterpret_cast<const char*>(work.cos_sin) + uint64_t{sector} * kSector);
}

// Where a head begins, in vectors from the start of all queries or of all keys.
template <class B>
__device__ inline uint64_t start_of(const Work<B>& work, uint32_t token, uint32_t head) {
  const bool of_q = head < work.q_heads;
  const uint64_t before = uint64_t{token} * (of_q ? work.q_heads : work.k_heads);
  return (before + (of_q ? head : head - work.q_heads)) * (2 * work.half);
}

template <class T, bool kWide, int kHeads>
__global__ void __launch_bounds__(THREADS) rotate(Work<Bits<kWide>> work) {
  const uint32_t unit = blockIdx.x * blockDim.x + threadIdx.x;
  if (unit >= work.units) return;
  const uint32_t token = work.by_token.divide(unit), of_token = unit - token * (work.groups * work.half);
  const auto position = static_cast<uint32_t>(work.position[token]);
  ask_for_share(work);

  const uint32_t group = work.by_half.divide(of_token), lane = of_token - group * work.half;
  const uint32_t heads = work.q_heads + work.k_heads;
  Bits<kWide> first[kHeads], second[kHeads];
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    const uint32_t head = group + i * work.groups;
    if (i > 0 && head >= heads) continue;
    const Bits<kWide>* const from = (head < work.q_heads ? work.q : work.k) + start_of(work, token, head) + lane;
    first[i] = read(from);
    second[i] = read(from + work.half);
  }

  const uint32_t angles = work.half * kNumbers<kWide>;
  const float* const row = work.cos_sin + uint64_t{position} * (2 * angles) + lane * kNumbers<kWide>;
  const Floats<kNumbers<kWide>> cos(row), sin(row + angles);
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    const uint32_t head = group + i * work.groups;
    if (i > 0 && head >= heads) continue;
    Bits<kWide>* const to = (head < work.q_heads ? work.q_out : work.k_out) + start_of(work, token, head) + lane;
    turn<T>(first[i], second[i], cos, sin);
    write(to, first[i]);
    write(to + work.half, second[i]);
  }
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// What lies where, and how much of it there is.
template <class T>
struct Heads {
  const T *q, *k;
  const float* cos_sin;
  const int64_t* position;
  T *q_out, *k_out;
  int64_t tokens, q_heads, k_heads, head_dim, positions;

  Heads from(int64_t token) const {
    Heads rest = *this;
    const int64_t of_q = token * q_heads * head_dim, of_k = token * k_heads * head_dim;
    rest.q += of_q, rest.q_out += of_q, rest.k += of_k, rest.k_out += of_k;
    rest.position += token, rest.tokens -= token;
    return rest;
  }

  bool wide() const {
    const uintptr_t places = reinterpret_cast<uintptr_t>(q) | reinterpret_cast<uintptr_t>(k) |
                             reinterpret_cast<uintptr_t>(q_out) | reinterpret_cast<uintptr_t>(k_out) |
                             reinterpret_cast<uintptr_t>(cos_sin);
    return places % 16 == 0 && head_dim % 16 == 0;
  }
};

// A sector for every fourth thread at most, so that rows nobody reads cost little beside the heads; nothing of a table
// that would take more, as most of its rows are of other positions.
int64_t share_of(int64_t sectors, int64_t blocks, int64_t threads) {
  const int64_t share = ceil_div(sectors, blocks);
  return AHEAD == 1 && 4 * share <= threads ? share : 0;
}

template <class T, bool kWide, int kHeads>
void launch_groups(const Heads<T>& all, int64_t tokens, int64_t size, cudaStream_t stream) {
  using B = Bits<kWide>;
  const auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
  const int64_t half = all.head_dim / (2 * kNumbers<kWide>), groups = ceil_div(all.q_heads + all.k_heads, kHeads);
  const int64_t units = tokens * groups * half, count = ceil_div(units, size);
  const int64_t sectors = all.positions * all.head_dim * int64_t{sizeof(float)} / kSector;
  const int64_t share = share_of(sectors, count, size);
  const Work<B> work{reinterpret_cast<const B*>(all.q),
                     reinterpret_cast<const B*>(all.k),
                     reinterpret_cast<B*>(all.q_out),
                     reinterpret_cast<B*>(all.k_out),
                     all.cos_sin,
                     all.position,
                     number(units),
                     number(half),
                     number(groups),
                     number(all.q_heads),
                     number(all.k_heads),
                     Divisor(number(groups * half)),
                     Divisor(number(half)),
                     number(sectors),
                     number(share)};
  const unsigned blocks = number(count), threads = number(size);
  rotate<T, kWide, kHeads><<<blocks, threads, 0, stream>>>(work);
}

template <class T, bool kWide>
void launch_heads(const Heads<T>& all, cudaStream_t stream) {
  const int64_t half = all.head_dim / (2 * kNumbers<kWide>), heads = all.q_heads + all.k_heads;
  const int64_t at_a_time = std::max<int64_t>(1, (int64_t{1} << 30) / (heads * half));  // units have 32 bits
  for (int64_t done = 0; done < all.tokens; done += at_a_time) {
    const Heads<T> rest = all.from(done);
    const int64_t tokens = std::min(at_a_time, rest.tokens);
    if (tokens * half * ceil_div(heads, HEADS) < WAVES * multiprocessors() * THREADS) {
      launch_groups<T, kWide, 1>(rest, tokens, SMALL, stream);
    } else {
      launch_groups<T, kWide, HEADS>(rest, tokens, THREADS, stream);
    }
  }
}

template <class T>
void launch(const Heads<T>& all, cudaStream_t stream) {
  if (all.tokens <= 0 || all.q_heads + all.k_heads <= 0 || all.head_dim <= 1) return;
  if (all.wide()) {
    launch_heads<T, true>(all, stream);
  } else {
    launch_heads<T, false>(all, stream);
  }
}

}  // namespace

extern "C" void launch_float16(const __half* q, const __half* k, const float* cos_sin, const int64_t* position,
                               __half* q_out, __half* k_out, int64_t tokens, int64_t q_heads, int64_t k_heads,
                               int64_t head_dim, int64_t positions, cudaStream_t stream) {
  launch<__half>({q, k, cos_sin, position, q_out, k_out, tokens, q_heads, k_heads, head_dim, positions}, stream);
}

extern "C" void launch_bfloat16(const __nv_bfloat16* q, const __nv_bfloat16* k, const float* cos_sin,
                                const int64_t* position, __nv_bfloat16* q_out, __nv_bfloat16* k_out, int64_t tokens,
                                int64_t q_heads, int64_t k_heads, int64_t head_dim, int64_t positions,
                                cudaStream_t stream) {
  launch<__nv_bfloat16>({q, k, cos_sin, position, q_out, k_out, tokens, q_heads, k_heads, head_dim, positions}, stream);
}
