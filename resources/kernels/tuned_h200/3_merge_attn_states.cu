// definition: sglang/level1/3_merge_attn_states
// Neighbouring threads share a row, each with VECTORS times 16 bytes of either state. It asks for all of them and for
// both log-sum-exps at once, so that nothing waits for memory twice, and finds the weights once for all its vectors.
// Where these blocks would be fewer than WAVES for each multiprocessor, blocks have SMALL threads with one vector each.
// LOADS is where states are kept: 0 in all caches, 1 no longer than needed, 2 in L2 alone, which then fetches 256 bytes
// at once. STORES: 1 for no longer than needed.
// tune: THREADS in 256, 128, 512
// tune: VECTORS in 2, 1, 4
// tune: SMALL in 64, 128, 32
// tune: WAVES in 2, 1, 4
// tune: LOADS in 1, 0, 2
// tune: STORES in 0, 1
// where: THREADS * VECTORS >= 256 && THREADS * VECTORS <= 1024
// threads: THREADS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

constexpr int kResident = 2048;  // threads that a multiprocessor holds
constexpr int kElements = 8;     // of 16 bits in a vector of 16 bytes

// Both states and what becomes of them, from some row on.
struct States {
  const uint16_t* v_a;
  const float* s_a;
  const uint16_t* v_b;
  const float* s_b;
  uint16_t* v_merged;
  float* s_merged;

  States from(int64_t row, int64_t head_dim) const {
    const int64_t start = row * head_dim;
    return {v_a + start, s_a + row, v_b + start, s_b + row, v_merged + start, s_merged + row};
  }
};

// Division by what only the host knows, exact for all numbers below 2^31.
struct Divisor {
  uint32_t factor, shift = 0;

  explicit Divisor(uint32_t divisor) {
    while ((uint64_t{1} << shift) < divisor) ++shift;
    factor = static_cast<uint32_t>(((uint64_t{1} << (31 + shift)) + divisor - 1) / divisor);
  }

  __device__ uint32_t divide(uint32_t number) const { return __umulhi(2 * number, factor) >> shift; }
};

// Past L1, and from memory with the other half of 256 bytes, which a neighbour wants.
[[maybe_unused]] __device__ inline uint4 read_pair_of_lines(const uint4* place) {
#ifdef __CUDA_ARCH__  // a compiler for CPUs knows no such load
  uint4 bits;
  asm("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
      : "l"(place));
  return bits;
#else
  return *place;
#endif
}

template <class B>
__device__ inline B read(const B* place) {
  if constexpr (LOADS == 1) {
    return __ldcs(place);
  } else if constexpr (LOADS == 2 && std::is_same_v<B, uint4>) {
    return read_pair_of_lines(place);
  } else {
    return __ldg(place);
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

// The share of either state and the log-sum-exp of both. The larger is taken off first, so that no power is too large.
// Two empty states, or an infinite one, leave infinity less infinity, and so NaN everywhere, as is asked for.
struct Weights {
  float a, b, total, largest;

  __device__ Weights(float s_a, float s_b) {
    largest = fmaxf(s_a, s_b);
    a = exp2f(s_a - largest);
    b = exp2f(s_b - largest);
    total = a + b;
    const float each = __fdividef(1.0f, total);
    a *= each;
    b *= each;
  }

  __device__ float log_sum() const { return __log2f(total) + largest; }
  __device__ float mean(float x, float y) const { return a * x + b * y; }
};

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

// Two numbers of 16 bits, or one in the lower half.
template <class T>
__device__ inline uint32_t merged(uint32_t a, uint32_t b, const Weights& weights) {
  const float2 x = widened<T>(a), y = widened<T>(b);
  return narrowed<T>(weights.mean(x.x, y.x), weights.mean(x.y, y.y));
}

template <class T>
__device__ inline uint16_t merged(uint16_t a, uint16_t b, const Weights& weights) {
  return static_cast<uint16_t>(merged<T>(uint32_t{a}, uint32_t{b}, weights));
}

template <class T>
__device__ inline uint4 merged(const uint4& a, const uint4& b, const Weights& weights) {
  return make_uint4(merged<T>(a.x, b.x, weights), merged<T>(a.y, b.y, weights), merged<T>(a.z, b.z, weights),
                    merged<T>(a.w, b.w, weights));
}

// Rows of kRow vectors, kEach of them a thread's own. Registers are few enough for a full multiprocessor, or for half
// of one where each thread has four vectors.
template <class T, int kRow, int kEach>
__global__ void __launch_bounds__(THREADS, kResident / THREADS / (kEach > 2 ? 2 : 1))
    merge_rows(States states, uint32_t threads) {
  constexpr uint32_t kLanes = kRow / kEach;
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const uint32_t row = thread / kLanes, lane = thread % kLanes, first = row * kRow + lane;
  const float s_a = __ldg(states.s_a + row), s_b = __ldg(states.s_b + row);
  const uint4* const v_a = reinterpret_cast<const uint4*>(states.v_a) + first;
  const uint4* const v_b = reinterpret_cast<const uint4*>(states.v_b) + first;
  uint4 a[kEach], b[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    a[i] = read(v_a + i * kLanes);
    b[i] = read(v_b + i * kLanes);
  }
  const Weights weights(s_a, s_b);
  uint4* const out = reinterpret_cast<uint4*>(states.v_merged) + first;
#pragma unroll
  for (int i = 0; i < kEach; ++i) write(out + i * kLanes, merged<T>(a[i], b[i], weights));
  if (lane == 0) states.s_merged[row] = weights.log_sum();
}

// Rows of any length, `each` vectors or single elements, `total` in all: a thread has one.
template <class T, class B>
__global__ void __launch_bounds__(THREADS) merge_flat(States states, uint32_t total, uint32_t each, Divisor by_each) {
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  const uint32_t row = by_each.divide(at);
  const float s_a = __ldg(states.s_a + row), s_b = __ldg(states.s_b + row);
  const B a = read(reinterpret_cast<const B*>(states.v_a) + at), b = read(reinterpret_cast<const B*>(states.v_b) + at);
  const Weights weights(s_a, s_b);
  write(reinterpret_cast<B*>(states.v_merged) + at, merged<T>(a, b, weights));
  if (at == row * each) states.s_merged[row] = weights.log_sum();
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// As many rows at a time as 32 bits can number the parts of, `each` to a row.
template <class Launch>
void by_parts(const States& states, int64_t rows, int64_t head_dim, int64_t each, Launch launch) {
  const int64_t at_a_time = std::max<int64_t>(1, (int64_t{1} << 30) / each);
  for (int64_t done = 0; done < rows; done += at_a_time) {
    launch(states.from(done, head_dim), std::min(at_a_time, rows - done));
  }
}

template <class T, int kRow>
void launch_rows(const States& states, int64_t rows, cudaStream_t stream) {
  by_parts(states, rows, kRow * kElements, kRow, [stream](const States& part, int64_t count) {
    const auto threads = static_cast<uint32_t>(count * (kRow / VECTORS));
    const auto blocks = static_cast<unsigned>(ceil_div(threads, THREADS));
    if (blocks < WAVES * multiprocessors()) {
      const auto more = static_cast<unsigned>(ceil_div(count * kRow, SMALL));
      merge_rows<T, kRow, 1><<<more, SMALL, 0, stream>>>(part, static_cast<uint32_t>(count * kRow));
    } else {
      merge_rows<T, kRow, VECTORS><<<blocks, THREADS, 0, stream>>>(part, threads);
    }
  });
}

template <class T, class B>
void launch_flat(const States& states, int64_t rows, int64_t head_dim, cudaStream_t stream) {
  const auto each = static_cast<uint32_t>(head_dim / (sizeof(B) / sizeof(T)));
  by_parts(states, rows, head_dim, each, [=](const States& part, int64_t count) {
    const auto total = static_cast<uint32_t>(count * each);
    const auto blocks = static_cast<unsigned>(ceil_div(total, THREADS));
    merge_flat<T, B><<<blocks, THREADS, 0, stream>>>(part, total, each, Divisor(each));
  });
}

template <class T>
void launch(const T* v_a, const float* s_a, const T* v_b, const float* s_b, T* v_merged, float* s_merged, int64_t rows,
            int64_t head_dim, cudaStream_t stream) {
  if (rows <= 0 || head_dim <= 0) return;
  const uintptr_t places = reinterpret_cast<uintptr_t>(v_a) | reinterpret_cast<uintptr_t>(v_b) |
                           reinterpret_cast<uintptr_t>(v_merged) | head_dim * sizeof(T);
  const States states{reinterpret_cast<const uint16_t*>(v_a), s_a, reinterpret_cast<const uint16_t*>(v_b), s_b,
                      reinterpret_cast<uint16_t*>(v_merged), s_merged};
  if (places % 16 != 0) {
    launch_flat<T, uint16_t>(states, rows, head_dim, stream);
  } else if (head_dim == 64) {
    launch_rows<T, 64 / kElements>(states, rows, stream);
  } else if (head_dim == 128) {
    launch_rows<T, 128 / kElements>(states, rows, stream);
  } else if (head_dim == 256) {
    launch_rows<T, 256 / kElements>(states, rows, stream);
  } else {
    launch_flat<T, uint4>(states, rows, head_dim, stream);
  }
}

}  // namespace

extern "C" void launch_float16(const __half* v_a, const float* s_a, const __half* v_b, const float* s_b,
                               __half* v_merged, float* s_merged, int64_t tokens, int64_t heads, int64_t head_dim,
                               cudaStream_t stream) {
  launch(v_a, s_a, v_b, s_b, v_merged, s_merged, tokens * heads, head_dim, stream);
}

extern "C" void launch_bfloat16(const __nv_bfloat16* v_a, const float* s_a, const __nv_bfloat16* v_b, const float* s_b,
                                __nv_bfloat16* v_merged, float* s_merged, int64_t tokens, int64_t heads,
                                int64_t head_dim, cudaStream_t stream) {
  launch(v_a, s_a, v_b, s_b, v_merged, s_merged, tokens * heads, head_dim, stream);
}
