// As much of CUDA as the device system's kernels use, for g++: every block runs after the one before, its threads are
// fibers that take turns at barriers. What is right here can still be wrong on a GPU where threads of several blocks
// meet, or be slow; what is wrong here is wrong.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#define __global__ static
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation = 2 };

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "none"; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = 132, cudaSuccess; }

// Memory of a stream, which holds rubbish.
template <class T>
cudaError_t cudaMallocAsync(T** place, size_t bytes, cudaStream_t) {
  *place = static_cast<T*>(std::malloc(bytes));
  if (*place == nullptr) return cudaErrorMemoryAllocation;
  std::memset(static_cast<void*>(*place), 0xA5, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* place, cudaStream_t) {
  std::free(place);
  return cudaSuccess;
}

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct uint2 {
  uint32_t x, y;
};
struct int2 {
  int x, y;
};
struct uint4 {
  uint32_t x, y, z, w;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};

inline thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

constexpr size_t kStack = 64 * 1024;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStack]};
  bool done = true;
};

struct Machine {
  ucontext_t scheduler;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::function<void()> work;
  unsigned current = 0;
  uint64_t exchange[1024];
};

inline Machine machine;

inline void run_fiber() {
  machine.work();
  machine.fibers[machine.current]->done = true;
}

// Every thread of the block comes here before any goes on.
inline void barrier() { swapcontext(&machine.fibers[machine.current]->context, &machine.scheduler); }

inline void run_block(unsigned threads) {
  while (machine.fibers.size() < threads) machine.fibers.push_back(std::make_unique<Fiber>());
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = *machine.fibers[t];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = &machine.scheduler;
    fiber.done = false;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (unsigned t = 0; t < threads; ++t) {
      if (machine.fibers[t]->done) continue;
      machine.current = t;
      threadIdx.x = t;
      swapcontext(&machine.scheduler, &machine.fibers[t]->context);
      left |= !machine.fibers[t]->done;
    }
  }
}

template <class Kernel>
struct Launch {
  Kernel kernel;
  dim3 blocks;
  unsigned threads;
  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    machine.work = [=] { kernel(arguments...); };
    gridDim = {blocks.x, blocks.y, 1};
    blockDim.x = threads;
    for (unsigned b = 0; b < blocks.x * blocks.y; ++b) {
      blockIdx = {b % blocks.x, b / blocks.x, 0};
      run_block(threads);
    }
  }
};

template <class Kernel>
Launch<Kernel> launch(Kernel kernel, dim3 blocks, unsigned threads) {
  return {kernel, blocks, threads};
}

}  // namespace emulator

#define HONE_LAUNCH(kernel, blocks, threads, stream) emulator::launch(kernel, blocks, threads)

inline void __syncthreads() { emulator::barrier(); }

namespace emulator {

// What the thread `other` of this block hands over, 64 bits of it; every thread of its warp takes part.
template <class T>
T exchanged(T value, unsigned other) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  std::memcpy(&machine.exchange[threadIdx.x], &value, sizeof value);
  barrier();
  T theirs;
  std::memcpy(&theirs, &machine.exchange[other], sizeof theirs);
  barrier();
  return theirs;
}

// A bit for each lane of this warp that hands over `wanted`.
inline unsigned lanes_with(uint64_t mine, uint64_t wanted) {
  machine.exchange[threadIdx.x] = mine;
  barrier();
  unsigned found = 0;
  const unsigned first = threadIdx.x / 32 * 32;
  for (unsigned lane = 0; lane < 32 && first + lane < blockDim.x; ++lane) {
    found |= static_cast<unsigned>(machine.exchange[first + lane] == wanted) << lane;
  }
  barrier();
  return found;
}

}  // namespace emulator

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return emulator::exchanged(value, threadIdx.x / 32 * 32 + static_cast<unsigned>(lane) % 32);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return emulator::exchanged(value, threadIdx.x ^ static_cast<unsigned>(distance));
}
template <class T>
T __shfl_up_sync(unsigned, T value, int distance) {
  const unsigned me = threadIdx.x, step = static_cast<unsigned>(distance);
  return emulator::exchanged(value, me % 32 >= step ? me - step : me);
}

inline unsigned __match_any_sync(unsigned, uint32_t value) { return emulator::lanes_with(value, value); }
inline unsigned __ballot_sync(unsigned, bool bit) { return emulator::lanes_with(bit, 1); }
inline int __any_sync(unsigned, bool bit) { return emulator::lanes_with(bit, 1) != 0; }
inline unsigned __reduce_max_sync(unsigned, unsigned value) {
  for (int distance = 16; distance; distance /= 2) value = std::max(value, __shfl_xor_sync(0, value, distance));
  return value;
}
inline int __syncthreads_or(int wanted) {
  emulator::machine.exchange[threadIdx.x] = wanted != 0;
  emulator::barrier();
  bool found = false;
  for (unsigned thread = 0; thread < blockDim.x; ++thread) found |= emulator::machine.exchange[thread] != 0;
  emulator::barrier();
  return found;
}
inline int __popc(unsigned word) { return __builtin_popcount(word); }

template <class T>
T atomicAdd(T* place, T value) {
  const T before = *place;
  *place += value;
  return before;
}
template <class T>
T atomicMin(T* place, T value) {
  const T before = *place;
  if (value < before) *place = value;
  return before;
}
template <class T>
T atomicExch(T* place, T value) {
  const T before = *place;
  *place = value;
  return before;
}

// Loads and stores of what is not needed again, or not changed.
template <class T>
T __ldcs(const T* place) {
  return *place;
}
template <class T>
T __ldcg(const T* place) {
  return *place;
}
template <class T>
T __ldg(const T* place) {
  return *place;
}
template <class T>
void __stcs(T* place, T value) {
  *place = value;
}

inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t bits) {
  return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> bits % 32);
}
inline uint32_t __umulhi(uint32_t x, uint32_t y) { return static_cast<uint32_t>(static_cast<uint64_t>(x) * y >> 32); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __expf(float x) { return std::exp(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline uint32_t max(uint32_t x, uint32_t y) { return std::max(x, y); }
inline uint32_t min(uint32_t x, uint32_t y) { return std::min(x, y); }
inline uint32_t __vmaxu2(uint32_t x, uint32_t y) {
  return std::max(x & 0xFFFFu, y & 0xFFFFu) | std::max(x & 0xFFFF0000u, y & 0xFFFF0000u);
}

inline int2 make_int2(int x, int y) { return {x, y}; }
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float __uint_as_float(uint32_t word) {
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

inline uint32_t __float_as_uint(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

struct __nv_bfloat16 {
  uint16_t bits;
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
inline float __bfloat162float(__nv_bfloat16 value) { return __uint_as_float(static_cast<uint32_t>(value.bits) << 16); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  if (value != value) return {static_cast<uint16_t>(word >> 16 | 0x40)};
  return {static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}

inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {__bfloat162float(pair.x), __bfloat162float(pair.y)}; }
inline uint32_t __hgt2_mask(__nv_bfloat162 left, __nv_bfloat162 right) {
  const float2 x = __bfloat1622float2(left), y = __bfloat1622float2(right);
  return (x.x > y.x ? 0xFFFFu : 0u) | (x.y > y.y ? 0xFFFF0000u : 0u);
}
inline __nv_bfloat162 __hmul2(__nv_bfloat162 left, __nv_bfloat162 right) {
  const float2 x = __bfloat1622float2(left), y = __bfloat1622float2(right);
  return __floats2bfloat162_rn(x.x * y.x, x.y * y.y);
}

struct __half {
  uint16_t bits;
};
struct __half2 {
  __half x, y;
};
inline float __half2float(__half value) {
  const int exponent = value.bits >> 10 & 0x1F, fraction = value.bits & 0x3FF;
  const float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return value.bits & 0x8000 ? -size : size;
}
inline float2 __half22float2(__half2 pair) { return {__half2float(pair.x), __half2float(pair.y)}; }
inline __half2 __floats2half2_rn(float x, float y) {
  const _Float16 values[2] = {static_cast<_Float16>(x), static_cast<_Float16>(y)};
  __half2 pair;
  std::memcpy(&pair, values, sizeof pair);
  return pair;
}

// Eight bits: a sign, four of an exponent, three of a fraction; no infinity, and all ones are NaN.
struct __nv_fp8_e4m3 {
  uint8_t bits;
};
enum { __NV_SATFINITE, __NV_E4M3 };
inline uint8_t emulated_e4m3(float value) {
  const uint32_t sign = __float_as_uint(value) >> 24 & 0x80;
  if (value != value) return static_cast<uint8_t>(sign | 0x7F);
  const float size = std::fmin(std::fabs(value), 448.0f);
  int exponent = -6;
  if (size > 0) exponent = std::max(exponent, std::ilogb(size));
  // In units of the last place; eight of them make the next power of two, which is the next exponent.
  const int units = static_cast<int>(std::nearbyint(std::ldexp(size, 3 - exponent)));
  return static_cast<uint8_t>(sign | static_cast<uint32_t>((exponent + 6) * 8 + units));
}
inline uint16_t __nv_cvt_float2_to_fp8x2(float2 pair, int, int) {
  return static_cast<uint16_t>(emulated_e4m3(pair.x) | emulated_e4m3(pair.y) << 8);
}
