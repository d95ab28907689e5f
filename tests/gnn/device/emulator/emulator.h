// As much of CUDA as the device system's kernels use, for g++: every block runs after the one before, its threads are
// fibers that take turns at barriers. What is right here can still be wrong on a GPU where threads of several blocks
// meet, or be slow; what is wrong here is wrong.
#pragma once

#include <ucontext.h>

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

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation = 2 };

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "none"; }

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
struct float2 {
  float x, y;
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
  uint32_t exchange[1024];
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
  unsigned blocks, threads;
  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    machine.work = [=] { kernel(arguments...); };
    gridDim.x = blocks;
    blockDim.x = threads;
    for (unsigned b = 0; b < blocks; ++b) {
      blockIdx.x = b;
      run_block(threads);
    }
  }
};

template <class Kernel>
Launch<Kernel> launch(Kernel kernel, unsigned blocks, unsigned threads) {
  return {kernel, blocks, threads};
}

}  // namespace emulator

#define HONE_LAUNCH(kernel, blocks, threads, stream) emulator::launch(kernel, blocks, threads)

inline void __syncthreads() { emulator::barrier(); }

namespace emulator {

// What the thread `other` of this block hands over, 32 bits of it; every thread of the block takes part.
template <class T>
T exchanged(T value, unsigned other) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  std::memcpy(&machine.exchange[threadIdx.x], &value, sizeof value);
  barrier();
  T theirs;
  std::memcpy(&theirs, &machine.exchange[other], sizeof theirs);
  barrier();
  return theirs;
}

}  // namespace emulator

template <class T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return emulator::exchanged(value, threadIdx.x ^ static_cast<unsigned>(distance));
}
template <class T>
T __shfl_up_sync(unsigned, T value, int distance) {
  const unsigned me = threadIdx.x, step = static_cast<unsigned>(distance);
  return emulator::exchanged(value, me % 32 >= step ? me - step : me);
}

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

inline float2 make_float2(float x, float y) { return {x, y}; }
inline float __uint_as_float(uint32_t word) {
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
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
