// definition: sglang/level1/2_fused_add_rmsnorm
// A block has a row, or a warp has one where that is short. A thread asks for all of its 16 bytes of the input, of the
// residual and of the weights at once and keeps the sums, so that a row is read once; what a very long row has beyond
// what the largest block keeps is read again. Rows that begin anywhere are cut where addresses are multiples of 16.
// A thread has VECTORS times 16 bytes, more where blocks of THREADS do not suffice. Where there are at most ROWS rows
// for each multiprocessor it has FEW, in blocks as large as that takes.
// HINTS: 1 loads, 2 stores of what is kept in caches no longer than needed, 3 both.
// OVERLAP: 1 launches blocks while the kernel before this one ends; they wait for what it writes.
// tune: THREADS in 512, 256, 1024
// tune: VECTORS in 2, 1, 4
// tune: FEW in 1, 2
// tune: ROWS in 1, 2
// tune: HINTS in 0, 1, 2, 3
// tune: OVERLAP in 0, 1
// where: THREADS * VECTORS <= 2048
// threads: 1024
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

constexpr int kWarp = 32;
constexpr int kShort = 128;  // threads of a block where a warp has a row
constexpr int kLarge = 1024;  // threads of the largest block
constexpr int kResident = 1024;  // threads that a multiprocessor shall hold: registers for 64 each

template <class T>
constexpr int kWide = 16 / sizeof(T);  // elements of a vector

// Vectors that a thread keeps at most: 32 sums, or 16 where ends of rows take registers, too.
template <class T, bool kAligned>
constexpr int kMost = (kAligned ? 32 : 16) / kWide<T>;

template <class T>
constexpr int kPair = 4 / sizeof(T);  // elements of a word

template <class T>
using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;

// `vectors` a row, those included that its ends fill only in part; `share` is what an element has in the mean.
template <class T>
struct Work {
  T *input, *residual;
  const T* weight;
  int64_t tokens, hidden;
  uint32_t vectors;
  float share, eps;
};

template <class B>
__device__ inline B fetch(const B* place) {
  if constexpr (HINTS & 1) {
    return __ldcs(place);
  } else {
    return *place;
  }
}

template <class B>
__device__ inline void put(B* place, B bits) {
  if constexpr (HINTS & 2) {
    __stcs(place, bits);
  } else {
    *place = bits;
  }
}

template <class T>
__device__ inline void widen(uint32_t word, float* to) {
  if constexpr (std::is_same_v<T, float>) {
    to[0] = __uint_as_float(word);
  } else if constexpr (std::is_same_v<T, __half>) {
    __half2 pair;
    memcpy(&pair, &word, sizeof pair);
    const float2 wide = __half22float2(pair);
    to[0] = wide.x, to[1] = wide.y;
  } else {
    to[0] = __uint_as_float(word << 16), to[1] = __uint_as_float(word & 0xFFFF0000u);
  }
}

template <class T>
__device__ inline uint32_t narrowed(const float* from) {
  uint32_t word;
  if constexpr (std::is_same_v<T, float>) {
    word = __float_as_uint(from[0]);
  } else if constexpr (std::is_same_v<T, __half>) {
    const __half2 pair = __floats2half2_rn(from[0], from[1]);
    memcpy(&word, &pair, sizeof word);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(from[0], from[1]);
    memcpy(&word, &pair, sizeof word);
  }
  return word;
}

template <class T>
__device__ inline void widen(const uint4& vector, float* to) {
  const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) widen<T>(words[i], to + i * kPair<T>);
}

template <class T>
__device__ inline uint4 narrowed_vector(const float* from) {
  return make_uint4(narrowed<T>(from), narrowed<T>(from + kPair<T>), narrowed<T>(from + 2 * kPair<T>),
                    narrowed<T>(from + 3 * kPair<T>));
}

// Whether a row's elements from `first` on fill a vector that one load brings; `first` may lie before the row.
template <class T, bool kAligned>
__device__ inline bool whole(const T* row, int64_t first, int64_t hidden) {
  if constexpr (kAligned) return true;
  return first >= 0 && first + kWide<T> <= hidden && reinterpret_cast<uintptr_t>(row + first) % 16 == 0;
}

// Whether element `at` is one of the row's, in one comparison.
__device__ inline bool inside(int64_t at, int64_t hidden) {
  return static_cast<uint64_t>(at) < static_cast<uint64_t>(hidden);
}

// 16 bytes that begin `bytes` after the first vector's.
__device__ inline uint4 shifted(const uint4& low, const uint4& high, uint32_t bytes) {
  uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) words[i] = bytes & 8 ? words[i + 2] : words[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) words[i] = bytes & 4 ? words[i + 1] : words[i];
  const uint32_t bits = bytes % 4 * 8;
  return make_uint4(__funnelshift_r(words[0], words[1], bits), __funnelshift_r(words[1], words[2], bits),
                    __funnelshift_r(words[2], words[3], bits), __funnelshift_r(words[3], words[4], bits));
}

// A vector that no single load brings: from two loads, or at a row's ends one element after another.
template <class T>
__device__ inline uint4 read_pieces(const T* row, int64_t first, int64_t hidden) {
  const auto bytes = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row + first) % 16);
  const int64_t from = first - bytes / sizeof(T);
  if (from >= 0 && from + 2 * kWide<T> <= hidden) {
    const auto* const low = reinterpret_cast<const uint4*>(row + from);
    return shifted(low[0], low[1], bytes);
  }
  uint32_t words[4] = {};
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) {
    if (!inside(first + i, hidden)) continue;
    const uint32_t bits = reinterpret_cast<const Bits<T>*>(row)[first + i];
    words[i / kPair<T>] |= bits << (i % kPair<T> * 16);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// A vector of a row; what lies outside of the row is zero. Weights stay in caches, as all rows need them.
template <class T, bool kAligned, bool kStays = false>
__device__ inline uint4 read(const T* row, int64_t first, int64_t hidden) {
  if (!whole<T, kAligned>(row, first, hidden)) return read_pieces(row, first, hidden);
  const auto* const place = reinterpret_cast<const uint4*>(row + first);
  return kStays ? *place : fetch(place);
}

template <class T, bool kAligned>
__device__ inline void write(T* row, int64_t first, int64_t hidden, const uint4& vector) {
  if (whole<T, kAligned>(row, first, hidden)) return put(reinterpret_cast<uint4*>(row + first), vector);
  const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) {
    if (!inside(first + i, hidden)) continue;
    reinterpret_cast<Bits<T>*>(row)[first + i] = static_cast<Bits<T>>(words[i / kPair<T>] >> (i % kPair<T> * 16));
  }
}

// The input's and the residual's vectors as sums of 32 bits.
template <class T>
__device__ inline void add(const uint4& input, const uint4& residual, float* totals) {
  float other[kWide<T>];
  widen<T>(input, totals);
  widen<T>(residual, other);
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) totals[i] += other[i];
}

template <class T>
__device__ inline float squares(const float* totals) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) sum += totals[i] * totals[i];
  return sum;
}

template <class T>
__device__ inline uint4 normed(const float* totals, float scale, const uint4& weight) {
  float results[kWide<T>];
  widen<T>(weight, results);
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) results[i] *= totals[i] * scale;
  return narrowed_vector<T>(results);
}

__device__ inline float sum_of_warp(float mine) {
#pragma unroll
  for (int distance = kWarp / 2; distance; distance /= 2) mine += __shfl_xor_sync(~0u, mine, distance);
  return mine;
}

// The sum of a block's threads, in all of them.
__device__ inline float sum_of_block(float mine) {
  __shared__ float shared[kWarp];
  const uint32_t lane = threadIdx.x % kWarp;
  mine = sum_of_warp(mine);
  if (blockDim.x == kWarp) return mine;
  if (lane == 0) shared[threadIdx.x / kWarp] = mine;
  __syncthreads();
  return sum_of_warp(lane < blockDim.x / kWarp ? shared[lane] : 0.0f);
}

__device__ inline void wait_for_kernel_before() {
#if OVERLAP && defined(__CUDACC__)
  cudaGridDependencySynchronize();
#endif
}

__device__ inline void let_next_kernel_begin() {
#if OVERLAP && defined(__CUDACC__)
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// kThreads is the width of a warp where each warp of a block has a row of its own, or else what a block has at most.
template <class T, bool kAligned, int kThreads, int kEach>
__global__ void __launch_bounds__(kThreads == kWarp ? kShort : kThreads,
                                  kResident / (kThreads == kWarp ? kShort : kThreads))
    add_and_norm(const Work<T> work) {
  constexpr bool kOfWarp = kThreads == kWarp;
  constexpr bool kBeyond = kThreads == kLarge && kEach == kMost<T, kAligned>;
  constexpr int kAtOnce = kEach == 8 ? 2 : kEach, kAtEnd = kEach < 2 ? 1 : 2;  // vectors that registers suffice for
  constexpr bool kEarly = kEach * kWide<T> <= (kAligned ? 16 : 8);  // weights wait in registers
  const uint32_t team = kOfWarp ? kWarp : blockDim.x, me = kOfWarp ? threadIdx.x % kWarp : threadIdx.x;
  const int64_t row = kOfWarp ? int64_t{blockIdx.x} * (blockDim.x / kWarp) + threadIdx.x / kWarp : blockIdx.x;
  if (kOfWarp && row >= work.tokens) return;
  const int64_t hidden = work.hidden;
  const uint32_t vectors = work.vectors;
  T* const input = work.input + row * hidden;
  T* const residual = work.residual + row * hidden;
  const int64_t before = kAligned ? 0 : reinterpret_cast<uintptr_t>(input) / sizeof(T) % kWide<T>;
  const auto first_of = [=](uint32_t vector) { return int64_t{vector} * kWide<T> - before; };
  wait_for_kernel_before();

  // A thread that has less reads the row's last vector instead: loads without a condition are all on their way at once.
  const auto mine = [=](uint32_t i) { return first_of(min(me + i * team, vectors - 1)); };
  uint4 inputs[kEach], weights[kEach];
  const auto read_weights = [&](int part, int end) {
#pragma unroll
    for (int i = part; i < end; ++i) weights[i] = read<T, kAligned, true>(work.weight, mine(i), hidden);
  };
#pragma unroll
  for (int i = 0; i < kEach; ++i) inputs[i] = read<T, kAligned>(input, mine(i), hidden);
  float totals[kEach][kWide<T>], sum = 0;
#pragma unroll
  for (int part = 0; part < kEach; part += kAtOnce) {
    uint4 residuals[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) residuals[i] = read<T, kAligned>(residual, mine(part + i), hidden);
    if (kEarly) read_weights(part, part + kAtOnce);
#pragma unroll
    for (int i = part; i < part + kAtOnce; ++i) {
      add<T>(inputs[i], residuals[i - part], totals[i]);
      const float added = squares<T>(totals[i]);
      if (me + i * team < vectors) sum += added;
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {  // while other warps still wait for their loads
    const uint32_t at = me + i * team;
    if (at < vectors) write<T, kAligned>(residual, first_of(at), hidden, narrowed_vector<T>(totals[i]));
  }
  if constexpr (kBeyond) {
#pragma unroll 1
    for (uint32_t at = me + kEach * team; at < vectors; at += team) {
      float more[kWide<T>];
      add<T>(read<T, kAligned>(input, first_of(at), hidden), read<T, kAligned>(residual, first_of(at), hidden), more);
      sum += squares<T>(more);
    }
  }

  sum = kOfWarp ? sum_of_warp(sum) : sum_of_block(sum);
  let_next_kernel_begin();
  const float scale = rsqrtf(sum * work.share + work.eps);
#pragma unroll
  for (int part = 0; part < kEach; part += kAtEnd) {
    if (!kEarly) read_weights(part, part + kAtEnd);
#pragma unroll
    for (int i = part; i < part + kAtEnd; ++i) {
      const uint32_t at = me + i * team;
      if (at < vectors) write<T, kAligned>(input, first_of(at), hidden, normed<T>(totals[i], scale, weights[i]));
    }
  }
  if constexpr (kBeyond) {
#pragma unroll 1
    for (uint32_t at = me + kEach * team; at < vectors; at += team) {
      const int64_t first = first_of(at);
      float more[kWide<T>];
      add<T>(read<T, kAligned>(input, first, hidden), read<T, kAligned>(residual, first, hidden), more);
      const uint4 weight = read<T, kAligned, true>(work.weight, first, hidden);
      write<T, kAligned>(residual, first, hidden, narrowed_vector<T>(more));
      write<T, kAligned>(input, first, hidden, normed<T>(more, scale, weight));
    }
  }
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <class T, class Kernel>
void start(Kernel kernel, unsigned blocks, unsigned threads, const Work<T>& work, cudaStream_t stream) {
#if OVERLAP && defined(__CUDACC__)
  cudaLaunchAttribute overlap[1];
  overlap[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks), config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = overlap, config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, work);
#else
  kernel<<<blocks, threads, 0, stream>>>(work);
#endif
}

// Threads have at least `least` vectors, and twice as many until kThreads suffice for a row.
template <class T, bool kAligned, int kThreads, int kEach = 1>
void launch_teams(const Work<T>& work, int least, int64_t rows_of_block, cudaStream_t stream) {
  if constexpr (kEach < kMost<T, kAligned>) {
    if (kEach < least || work.vectors > kThreads * kEach) {
      return launch_teams<T, kAligned, kThreads, 2 * kEach>(work, least, rows_of_block, stream);
    }
  }
  const int64_t wanted = kWarp * ceil_div(work.vectors, kWarp * kEach);
  const auto threads = static_cast<unsigned>(rows_of_block * std::min<int64_t>(wanted, kThreads));
  const auto blocks = static_cast<unsigned>(ceil_div(work.tokens, rows_of_block));
  start(add_and_norm<T, kAligned, kThreads, kEach>, blocks, threads, work, stream);
}

template <class T, bool kAligned>
void launch_rows(const Work<T>& work, cudaStream_t stream) {
  const bool few = work.tokens <= ROWS * multiprocessors();
  const int least = few ? FEW : VECTORS;
  if (work.vectors <= kWarp * least) {
    launch_teams<T, kAligned, kWarp>(work, least, few ? 1 : kShort / kWarp, stream);
  } else if (!few && work.vectors <= THREADS * kMost<T, kAligned>) {
    launch_teams<T, kAligned, THREADS>(work, least, 1, stream);
  } else {
    launch_teams<T, kAligned, kLarge>(work, least, 1, stream);
  }
}

template <class T>
void launch(T* input, T* residual, const T* weight, double eps, int64_t tokens, int64_t hidden, cudaStream_t stream) {
  if (tokens <= 0 || hidden <= 0) return;
  const auto places = reinterpret_cast<uintptr_t>(input) | reinterpret_cast<uintptr_t>(residual) |
                      reinterpret_cast<uintptr_t>(weight);
  const auto share = static_cast<float>(1.0 / static_cast<double>(hidden));
  Work<T> work{input, residual, weight, tokens, hidden, 0, share, static_cast<float>(eps)};
  if (places % 16 == 0 && hidden % kWide<T> == 0) {
    work.vectors = static_cast<uint32_t>(hidden / kWide<T>);
    launch_rows<T, true>(work, stream);
  } else {
    work.vectors = static_cast<uint32_t>(ceil_div(hidden + kWide<T> - 1, kWide<T>));
    launch_rows<T, false>(work, stream);
  }
}

}  // namespace

extern "C" void launch_float16(__half* input, __half* residual, const __half* weight, double eps, int64_t tokens,
                               int64_t hidden, cudaStream_t stream) {
  launch(input, residual, weight, eps, tokens, hidden, stream);
}

extern "C" void launch_bfloat16(__nv_bfloat16* input, __nv_bfloat16* residual, const __nv_bfloat16* weight, double eps,
                                int64_t tokens, int64_t hidden, cudaStream_t stream) {
  launch(input, residual, weight, eps, tokens, hidden, stream);
}

extern "C" void launch_float32(float* input, float* residual, const float* weight, double eps, int64_t tokens,
                               int64_t hidden, cudaStream_t stream) {
  launch(input, residual, weight, eps, tokens, hidden, stream);
}
