// definition: sglang/level1/1_silu_and_mul
// A thread has VECTORS times 16 bytes of the result, one block's width apart, and asks for all of their inputs at once.
// Where these blocks would be fewer than WAVES for each multiprocessor, blocks have SMALL threads with 16 bytes each.
// LOADS is where inputs are kept: 0 in all caches, 1 no longer than needed, 2 in L2 alone. STORES: 1 for no longer.
// tune: THREADS in 256, 128, 512
// tune: VECTORS in 2, 1, 4
// tune: SMALL in 64, 128, 256
// tune: WAVES in 2, 1, 4
// tune: LOADS in 1, 0, 2
// tune: STORES in 0, 1
// where: THREADS * VECTORS <= 1024
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

// Division by what only the host knows, exact for all numbers below 2^31.
struct Divisor {
  uint32_t factor, shift = 0;

  explicit Divisor(uint32_t divisor) {
    while ((uint64_t{1} << shift) < divisor) ++shift;
    factor = static_cast<uint32_t>(((uint64_t{1} << (31 + shift)) + divisor - 1) / divisor);
  }

  __device__ uint32_t divide(uint32_t number) const { return __umulhi(2 * number, factor) >> shift; }
};

// A vector's bits as a load brings them: 16 bytes, or one element where rows begin anywhere.
template <class T, bool kWide>
using Bits = std::conditional_t<kWide, uint4, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;

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

__device__ inline float silu_times(float gate, float up) { return gate / (1.0f + __expf(-gate)) * up; }

// The numbers of one word: a float, or two of 16 bits.
template <class T>
__device__ inline uint32_t word_of(uint32_t gate, uint32_t up) {
  if constexpr (std::is_same_v<T, float>) {
    return __float_as_uint(silu_times(__uint_as_float(gate), __uint_as_float(up)));
  } else {
    using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
    Pair pairs[2], result;
    memcpy(&pairs[0], &gate, sizeof gate);
    memcpy(&pairs[1], &up, sizeof up);
    if constexpr (std::is_same_v<T, __half>) {
      const float2 x = __half22float2(pairs[0]), y = __half22float2(pairs[1]);
      result = __floats2half2_rn(silu_times(x.x, y.x), silu_times(x.y, y.y));
    } else {
      const float2 x = __bfloat1622float2(pairs[0]), y = __bfloat1622float2(pairs[1]);
      result = __floats2bfloat162_rn(silu_times(x.x, y.x), silu_times(x.y, y.y));
    }
    uint32_t word;
    memcpy(&word, &result, sizeof word);
    return word;
  }
}

template <class T>
__device__ inline uint4 bits_of(const uint4& gate, const uint4& up) {
  return make_uint4(word_of<T>(gate.x, up.x), word_of<T>(gate.y, up.y), word_of<T>(gate.z, up.z),
                    word_of<T>(gate.w, up.w));
}

template <class T>
__device__ inline uint32_t bits_of(uint32_t gate, uint32_t up) {
  return word_of<T>(gate, up);
}

template <class T>
__device__ inline uint16_t bits_of(uint16_t gate, uint16_t up) {
  return static_cast<uint16_t>(word_of<T>(gate, up));
}

// `each` vectors a row of the result, `total` of them; a row of the input has twice as many, the gate's first.
template <class T, bool kWide, int kVectors>
__global__ void __launch_bounds__(THREADS) silu_and_mul(const Bits<T, kWide>* input, Bits<T, kWide>* out,
                                                        uint32_t total, uint32_t each, Divisor by_each) {
  const uint32_t first = blockIdx.x * (kVectors * blockDim.x) + threadIdx.x;
  Bits<T, kWide> gate[kVectors], up[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const uint32_t vector = first + i * blockDim.x;
    if (vector >= total) continue;
    const uint64_t row = by_each.divide(vector);
    const Bits<T, kWide>* const place = input + (vector + row * each);
    gate[i] = read(place);
    up[i] = read(place + each);
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const uint32_t vector = first + i * blockDim.x;
    if (vector < total) write(out + vector, bits_of<T>(gate[i], up[i]));
  }
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <class T, bool kWide>
void launch_vectors(const T* input, T* out, int64_t tokens, int64_t each, cudaStream_t stream) {
  using B = Bits<T, kWide>;
  const int64_t rows_at_a_time = std::max<int64_t>(1, (int64_t{1} << 30) / each);  // vectors are numbered in 32 bits
  for (int64_t done = 0; done < tokens; done += rows_at_a_time) {
    const auto total = static_cast<uint32_t>(std::min(rows_at_a_time, tokens - done) * each);
    const B* const from = reinterpret_cast<const B*>(input) + 2 * done * each;
    B* const to = reinterpret_cast<B*>(out) + done * each;
    const auto size = static_cast<uint32_t>(each);
    const auto blocks = static_cast<unsigned>(ceil_div(total, THREADS * VECTORS));
    if (blocks < WAVES * multiprocessors()) {
      const auto more = static_cast<unsigned>(ceil_div(total, SMALL));
      silu_and_mul<T, kWide, 1><<<more, SMALL, 0, stream>>>(from, to, total, size, Divisor(size));
    } else {
      silu_and_mul<T, kWide, VECTORS><<<blocks, THREADS, 0, stream>>>(from, to, total, size, Divisor(size));
    }
  }
}

template <class T>
void launch(const T* input, T* out, int64_t tokens, int64_t hidden, cudaStream_t stream) {
  if (tokens <= 0 || hidden <= 0) return;
  constexpr int64_t wide = 16 / sizeof(T);
  if (hidden % wide == 0 && (reinterpret_cast<uintptr_t>(input) | reinterpret_cast<uintptr_t>(out)) % 16 == 0) {
    launch_vectors<T, true>(input, out, tokens, hidden / wide, stream);
  } else {
    launch_vectors<T, false>(input, out, tokens, hidden, stream);
  }
}

}  // namespace

extern "C" void launch_float16(const __half* input, __half* out, int64_t tokens, int64_t hidden, int64_t width,
                               cudaStream_t stream) {
  launch(input, out, tokens, hidden, stream);
}

extern "C" void launch_bfloat16(const __nv_bfloat16* input, __nv_bfloat16* out, int64_t tokens, int64_t hidden,
                                int64_t width, cudaStream_t stream) {
  launch(input, out, tokens, hidden, stream);
}

extern "C" void launch_float32(const float* input, float* out, int64_t tokens, int64_t hidden, int64_t width,
                               cudaStream_t stream) {
  launch(input, out, tokens, hidden, stream);
}
