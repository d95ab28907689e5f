// How the kernels of later layers share rows among threads, and what they read and write with.
#pragma once

#include "common.cuh"

namespace hone {

// Threads of these kernels that the GPU holds at once: on a multiprocessor 1024, with 64 registers each. Asked once.
inline int64_t resident_threads() {
  static const int64_t threads = [] {
    int device = 0, multiprocessors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    return int64_t{1024} * multiprocessors;
  }();
  return threads;
}

// Division by what only the host knows, by a multiplication: a division of 32 bits is some twenty instructions. Exact
// for all below 2^31.
class Divisor {
 public:
  explicit Divisor(uint32_t divisor) {
    while ((uint64_t{1} << shift_) < divisor) ++shift_;
    factor_ = static_cast<uint32_t>(((uint64_t{1} << (31 + shift_)) + divisor - 1) / divisor);
  }

  __device__ uint32_t divide(uint32_t number) const { return __umulhi(2 * number, factor_) >> shift_; }

 private:
  uint32_t factor_ = 0, shift_ = 0;
};

// A block's threads in teams of `lanes`: each team has a row at a time, each thread the same columns of all rows.
// Where a row is too wide for a block, blockIdx.y says which part of it the team has.
struct Teams {
  uint32_t lanes, count, segments;
  Divisor by_lanes;

  // For rows of `pieces`, one for each thread. There are as many teams as the largest multiple of `of` that
  // fits, and `of` of them have to.
  Teams(int64_t pieces, int threads, int of = 1)
      : lanes(blocks_for(pieces, blocks_for(pieces, threads))), count(threads / lanes / of * of),
        segments(blocks_for(pieces, lanes)), by_lanes(lanes) {}
};

struct Member {
  uint32_t team, lane, piece;  // the threads left over have teams from `count` on, and maybe pieces outside the row
};

__device__ inline Member member_of(const Teams& teams) {
  const uint32_t team = teams.by_lanes.divide(threadIdx.x), lane = threadIdx.x - team * teams.lanes;
  return {team, lane, blockIdx.y * teams.lanes + lane};
}

__device__ inline Eight eight_at(const char* place) { return *reinterpret_cast<const Eight*>(place); }

// What nobody reads again soon makes room in the caches for what somebody does.
__device__ inline Eight eight_read_once(const char* place) {
  const uint4 words = __ldcs(reinterpret_cast<const uint4*>(place));
  return {{words.x, words.y, words.z, words.w}};
}

__device__ inline void write_once(char* place, const Eight& values) {
  __stcs(reinterpret_cast<uint4*>(place),
         make_uint4(values.words[0], values.words[1], values.words[2], values.words[3]));
}

// Sums of a block's threads, where one of a team adds up what others have.
template <int kBlock>
struct SharedSums {
  float4 halves[2][kBlock];

  __device__ void put(const float (&sums)[8]) {
    halves[0][threadIdx.x] = make_float4(sums[0], sums[1], sums[2], sums[3]);
    halves[1][threadIdx.x] = make_float4(sums[4], sums[5], sums[6], sums[7]);
  }

  __device__ void add_to(float (&sums)[8], uint32_t thread) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float4 half = halves[i][thread];
      sums[4 * i] += half.x;
      sums[4 * i + 1] += half.y;
      sums[4 * i + 2] += half.z;
      sums[4 * i + 3] += half.w;
    }
  }
};

}  // namespace hone
