// For Hopper GPUs: warps that hand over to others, pairs of blocks, products of matrices in shared memory.
#pragma once

#include "common.cuh"

namespace hone {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ inline uint32_t shared_address(const void* place) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(place));
}

// A barrier in shared memory that threads arrive at and others wait for.
struct Gate {
  uint64_t word;

  __device__ void open(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&word)), "r"(arrivals) : "memory");
  }

  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&word)) : "memory");
  }

  __device__ void wait(uint32_t parity) {
    uint32_t passed = 0;
    while (!passed) {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(passed)
          : "r"(shared_address(&word)), "r"(parity)
          : "memory");
    }
  }
};

// Blocks are in pairs, along x.
__device__ inline uint32_t block_of_pair() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Until all threads of both blocks have come here, but for those that have ended.
__device__ inline void meet_other_block() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#define HONE_EIGHT(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
                      "+f"(d[i + 6]), "+f"(d[i + 7])

// d (64, 128) += left (16, 64)' @ right (16, 128), of bfloat16. It goes on until the warps wait for it.
__device__ inline void multiply(float (&d)[64], uint64_t left, uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 1, 1;"
      : HONE_EIGHT(0), HONE_EIGHT(8), HONE_EIGHT(16), HONE_EIGHT(24), HONE_EIGHT(32), HONE_EIGHT(40), HONE_EIGHT(48),
        HONE_EIGHT(56)
      : "l"(left), "l"(right));
}

#undef HONE_EIGHT

#endif

}  // namespace hone
