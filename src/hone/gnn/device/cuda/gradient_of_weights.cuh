// Backward of `mean_of_states` and of the first layer's product at once: the gradient of that layer's weights,
// input' @ gradient_of_states, whose right side is as large as the states and never goes to memory. For Hopper GPUs.
//
// A state's gradient is a sum over its readers and the product is a sum over states, so the product is one over readers:
// for each slot that a row draws the source's input' @ (the row's gradient, where the source's state passes). And one
// over rows, for what each reads of itself. Nobody has to know who reads a source.
#pragma once

#include "dropout.cuh"
#include "hopper.cuh"
#include "teams.cuh"

namespace hone {

constexpr int kWeightInputs = 256, kWeightOutputs = 128;  // a block's part of the weights
constexpr int kTerms = 64;  // terms of the sum in a stage
constexpr int kStages = 4;
constexpr int kInputBytes = 2 * kTerms * kWeightInputs, kGradientBytes = 2 * kTerms * kWeightOutputs;
constexpr int kStageBytes = kInputBytes + kGradientBytes, kSwizzled = 1024;
constexpr int kBringers = 256, kMultipliers = 256;  // threads of a block
constexpr int kMostOfInputs = 2;  // blocks along the inputs: each makes the gradients of states by itself
constexpr int kLeastStages = 4;  // that a block has, or there are fewer blocks
constexpr int kSumThreads = 256, kSumShares = 4;

// What a block of `gradient_of_weights` adds up.
struct WeightTerms {
  Hop hop;
  const void* input;         // (max_src, inputs) bfloat16
  const void* out_gradient;  // (max_dst, 2 * width) bfloat16
  const uint8_t* notes;      // (max_src, width / 8)
  int inputs, width;
  float scale;    // of a state that passes
  Divisor terms;  // of a row: its slots and itself
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kCopied = 2;  // stages ahead whose inputs are being copied
constexpr int kNumbered = kStages + 3, kNumbers = 32;  // stages ahead whose numbers are known; room for numbers

struct Gates {
  Gate full[kStages], empty[kStages];
  int more[kStages];
  int numbers[kNumbers];
};

// A stage's matrix has 64 columns of all terms, then the next 64. 16 bytes of a term are a piece, at the place of the
// piece with its number xor the term's: a 128-byte swizzle. For wgmma: 8 terms are 1024 bytes, 64 columns 128 * kTerms.
__device__ inline uint64_t matrix_at(uint32_t address) {
  return uint64_t{1} << 62 | uint64_t{1024 >> 4} << 32 | uint64_t{(128 * kTerms) >> 4} << 16 | (address & 0x3FFFF) >> 4;
}

// One term of the sum as it is looked up, and as the warp uses it. Places count pieces of eight columns. What is not
// there has a share of nothing, of what somebody else reads, so that nobody has to ask whether it is.
struct Listed {
  uint32_t row, slot;  // slot `fanout`: the row itself
  int32_t degree, neighbour;
};

struct Term {
  uint32_t input, gradient, notes;  // places
  uint32_t share;  // that the gradient is multiplied by: two bfloat16, the larger one first, as their sum
};

__device__ inline Listed listed_at(const WeightTerms& of, int32_t rows, uint32_t number) {
  const uint32_t row = of.terms.divide(number), fanout = of.hop.fanout, slot = number - row * (fanout + 1);
  Listed found = {row, slot, 0, 0};
  if (row >= static_cast<uint32_t>(rows) || slot >= fanout) return found;
  found.degree = of.hop.degrees[row];
  found.neighbour = of.hop.neighbours[row * fanout + slot];
  return found;
}

__device__ inline Term term_of(const WeightTerms& of, int32_t rows, const Listed& listed) {
  const bool there = listed.row < static_cast<uint32_t>(rows), own = listed.slot == static_cast<uint32_t>(of.hop.fanout);
  const bool drawn = static_cast<int32_t>(listed.slot) < listed.degree;
  const uint32_t row = there ? listed.row : 0, source = drawn ? static_cast<uint32_t>(listed.neighbour) : row;
  const float of_mean = drawn ? __fdividef(of.scale, static_cast<float>(listed.degree)) : 0.0f;
  const float share = !there ? 0.0f : own ? of.scale : of_mean;
  const uint32_t pieces = static_cast<uint32_t>(of.width) / 8;
  const float high = __bfloat162float(__float2bfloat16(share));
  return {source * (static_cast<uint32_t>(of.inputs) / 8), row * 2 * pieces + (own ? pieces : 0), source * pieces,
          narrow(high, share - high)};
}

// All ones for each of two elements whose bits are in byte `element` of the words.
template <int kElement>
__device__ inline uint32_t mask_of(uint32_t low, uint32_t high) {
  uint32_t mask;  // the sign of a byte in all bits of two: what __byte_perm, which looks at three bits, has not
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(mask) : "r"(low), "r"(high), "n"(0xCC88 + 0x1111 * kElement));
  return mask;
}

// The threads that bring a stage's terms to shared memory.
struct Bringer {
  static constexpr int kEach = kTerms / (kBringers / 32), kPairs = kEach / 2;  // terms of a warp
  static_assert(kEach == 8, "the swizzle repeats after eight terms");

  struct Loaded {
    Eight gradients[kPairs];
    uint32_t notes[kPairs], shares[kPairs];
  };

  const char *input, *out_gradient;
  const uint8_t* notes;
  uint32_t stages, first, lane;  // the first of the warp's terms

  __device__ Bringer(const WeightTerms& of, const char* memory)
      : stages(shared_address(memory)), first(threadIdx.x / 32 * kEach), lane(threadIdx.x % 32) {
    // Columns behind the last are brought again and not stored in the end.
    const uint32_t column = blockIdx.z * kWeightInputs + 8 * lane, at = blockIdx.y * kWeightOutputs + 8 * (lane % 16);
    const uint32_t output = at < static_cast<uint32_t>(of.width) ? at : 0;
    input = static_cast<const char*>(of.input) + 2 * (column < static_cast<uint32_t>(of.inputs) ? column : 0);
    out_gradient = static_cast<const char*>(of.out_gradient) + 2 * output;
    notes = of.notes + output / 8;
  }

  __device__ Listed listed(const WeightTerms& of, int32_t rows, int number) const {
    return listed_at(of, rows, static_cast<uint32_t>(number) * kTerms + first + lane % kEach);
  }

  __device__ void bring_inputs(const Term& mine, int slot) const {
    const uint32_t to = stages + slot * kStageBytes + (lane / 8) * (128 * kTerms) + first * 128;
    const uint32_t piece = lane % 8 * 16;
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint64_t place = uint64_t{16} * __shfl_sync(~0u, mine.input, i);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * 128 + (piece ^ (i * 16))),
                   "l"(input + place)
                   : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  __device__ void load_gradients(const Term& mine, Loaded& loaded) const {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int from = 2 * i + lane / 16;
      loaded.notes[i] = notes[__shfl_sync(~0u, mine.notes, from)];
      loaded.gradients[i] = eight_at(out_gradient + uint64_t{16} * __shfl_sync(~0u, mine.gradient, from));
      loaded.shares[i] = __shfl_sync(~0u, mine.share, from);
    }
  }

  __device__ void put_gradients(const Loaded& loaded, int slot) const {
    const uint32_t half = lane / 16, piece = (lane % 8 ^ half) * 16;
    const uint32_t to = stages + slot * kStageBytes + kInputBytes + (lane % 16 / 8) * (128 * kTerms) +
                        (first + half) * 128;
#pragma unroll
    for (uint32_t i = 0; i < kPairs; ++i) {
      const __nv_bfloat162 share = pair_of(loaded.shares[i]);
      const __nv_bfloat162 high = __low2bfloat162(share), low = __high2bfloat162(share);
      // A note's bits become the signs of bytes: bit i is moved by 7 (i + 1).
      const uint32_t lows = (loaded.notes[i] & 0xF) * 0x10204080u, highs = (loaded.notes[i] >> 4) * 0x10204080u;
      const uint32_t masks[4] = {mask_of<0>(lows, highs), mask_of<1>(lows, highs), mask_of<2>(lows, highs),
                                 mask_of<3>(lows, highs)};
      uint32_t words[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const __nv_bfloat162 value = pair_of(loaded.gradients[i].words[w]);
        words[w] = word_of(__hfma2(value, high, __hmul2(value, low))) & masks[w];
      }
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + i * 256 + (piece ^ (i * 32))), "r"(words[0]),
                   "r"(words[1]), "r"(words[2]), "r"(words[3])
                   : "memory");
    }
  }
};

// Brings stages until there is none left. `next` numbers them for all blocks with the same part of the weights: one
// that begins late, because others held its multiprocessor, has fewer. Without it blocks take turns.
// While a stage's gradients are written the next one's are loaded, the inputs of kCopied are copied, and the sources of
// two more are looked up.
__device__ inline void bring(const WeightTerms& of, Gates& gates, char* stages, uint32_t* next) {
  const uint32_t thread = threadIdx.x;
  const Bringer me(of, stages);
  const int32_t rows = rows_of(of.hop);
  const int total = (rows * (of.hop.fanout + 1) + kTerms - 1) / kTerms;
  int turn = static_cast<int>(blockIdx.x) - static_cast<int>(gridDim.x), pending = 0;
  const auto claim = [&] { return next ? static_cast<int>(atomicAdd(next, 1u)) : turn += gridDim.x; };
  const auto number = [&](int t) { return gates.numbers[t % kNumbers]; };
  const auto hand_over = [&](int t, int more) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (thread == 0) gates.more[t % kStages] = more;
    if (thread % 32 == 0) gates.full[t % kStages].arrive();
  };
  if (thread == 0) {
    const int first = next ? static_cast<int>(atomicAdd(next, uint32_t{kNumbered})) : 0;
    for (int t = 0; t < kNumbered; ++t) gates.numbers[t] = next ? first + t : claim();
    pending = claim();
  }
  asm volatile("bar.sync 1, %0;" ::"n"(kBringers) : "memory");

  Bringer::Loaded loaded[2];
  Listed listed[2] = {me.listed(of, rows, number(kCopied)), me.listed(of, rows, number(kCopied + 1))};
  Term terms[kCopied];  // of the stages that come next
#pragma unroll
  for (int t = 0; t < kCopied; ++t) terms[t] = term_of(of, rows, me.listed(of, rows, number(t)));
#pragma unroll
  for (int t = 0; t < kCopied; ++t) me.bring_inputs(terms[t], t);
  me.load_gradients(terms[0], loaded[0]);
  // What is loaded here is used a turn later at the earliest: it stays in its registers, as moving it would wait for it.
  const auto turns = [&](int t, const Bringer::Loaded& mine, Bringer::Loaded& later, Listed& looked_up) {
    const int copied = t + kCopied;
#pragma unroll
    for (int i = 1; i < kCopied; ++i) terms[i - 1] = terms[i];
    terms[kCopied - 1] = term_of(of, rows, looked_up);
    me.load_gradients(terms[0], later);
    // Was written in turn t - 1 + kCopied - kStages or before, which all have left behind: they waited for its stage.
    looked_up = me.listed(of, rows, number(copied + 2));
    if (copied >= kStages) gates.empty[copied % kStages].wait((copied / kStages + 1) & 1);
    if (thread == 0) {
      gates.numbers[(t + kNumbered) % kNumbers] = pending;
      pending = claim();
    }
    me.bring_inputs(terms[kCopied - 1], copied % kStages);
    me.put_gradients(mine, t % kStages);
    asm volatile("cp.async.wait_group %0;" ::"n"(kCopied) : "memory");
    hand_over(t, 1);
  };
  int t = 0;
  while (true) {
    if (number(t) >= total) break;
    turns(t, loaded[0], loaded[1], listed[0]);
    ++t;
    if (number(t) >= total) break;
    turns(t, loaded[1], loaded[0], listed[1]);
    ++t;
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  hand_over(t, 0);
}

// The other threads: two groups of four warps, each with half of the inputs.
__device__ inline void multiply_all(const WeightTerms& of, Gates& gates, const char* stages, float* partial) {
  const uint32_t thread = threadIdx.x - kBringers, group = thread / 128, lane = thread % 32, warp = thread % 128 / 32;
  float sums[2][64] = {};
  for (int t = 0;; ++t) {
    const int slot = t % kStages;
    gates.full[slot].wait((t / kStages) & 1);
    if (!gates.more[slot]) break;
    const uint32_t inputs = shared_address(stages) + slot * kStageBytes + group * 2 * (128 * kTerms);
    const uint32_t gradients = shared_address(stages) + slot * kStageBytes + kInputBytes;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < kTerms / 16; ++k) {
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        multiply(sums[m], matrix_at(inputs + m * (128 * kTerms) + k * 2048), matrix_at(gradients + k * 2048));
      }
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (lane == 0) gates.empty[slot].arrive();
  }
  // Of each two blocks either keeps half of the sums, and gets the other's.
  const uint32_t mine = block_of_pair(), stage = shared_address(stages), place = stage + thread * 16;
  meet_other_block();  // nobody reads stages any more
  uint32_t theirs;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(place), "r"(1 - mine));
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    float sent[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) sent[i] = mine ? sums[0][4 * j + i] : sums[1][4 * j + i];
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(theirs + j * (16 * kMultipliers)),
                 "f"(sent[0]), "f"(sent[1]), "f"(sent[2]), "f"(sent[3])
                 : "memory");
  }
  meet_other_block();
  const uint32_t input = blockIdx.z * kWeightInputs + (2 * group + mine) * 64 + warp * 16 + lane / 4;
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    float got[4];
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(got[0]), "=f"(got[1]), "=f"(got[2]), "=f"(got[3])
                 : "r"(place + j * (16 * kMultipliers))
                 : "memory");
#pragma unroll
    for (int i = 0; i < 4; ++i) got[i] += mine ? sums[1][4 * j + i] : sums[0][4 * j + i];
    const uint32_t output = blockIdx.y * kWeightOutputs + 8 * j + 2 * (lane % 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t row = input + 8 * half;
      if (row < static_cast<uint32_t>(of.inputs) && output < static_cast<uint32_t>(of.width)) {
        *reinterpret_cast<float2*>(partial + static_cast<uint64_t>(row) * of.width + output) =
            make_float2(got[2 * half], got[2 * half + 1]);
      }
    }
  }
}

#endif

#ifdef __CUDACC__

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HONE_IN_PAIRS __cluster_dims__(2, 1, 1)
#else  // older GPUs have no pairs of blocks, and compile none
#define HONE_IN_PAIRS
#endif

// A part of the sum for each two blocks along x: partials (gridDim.x / 2, inputs, width). `next` has a zero for each
// blockIdx.y and z, or is 0.
__global__ void HONE_IN_PAIRS __launch_bounds__(kBringers + kMultipliers, 1)
    gradient_of_weights(WeightTerms of, uint32_t* next, float* partials) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ char memory[];
  __shared__ Gates gates;
  char* const stages = memory + (kSwizzled - shared_address(memory) % kSwizzled) % kSwizzled;
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kStages; ++slot) {
      gates.full[slot].open(kBringers / 32);
      gates.empty[slot].open(kMultipliers / 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < kBringers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
    bring(of, gates, stages, next ? next + blockIdx.z * gridDim.y + blockIdx.y : nullptr);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    multiply_all(of, gates, stages, partials + static_cast<uint64_t>(blockIdx.x / 2) * of.inputs * of.width);
  }
#endif
}

// Adds the parts up, in order; `next` begins anew.
__global__ void __launch_bounds__(kSumThreads)
    sum_weight_parts(const float* partials, int parts, int count, uint32_t* next, int counters, float* out) {
  __shared__ float4 shares[kSumThreads];
  const int here = static_cast<int>(threadIdx.x) / kSumShares, share = static_cast<int>(threadIdx.x) % kSumShares;
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < counters) next[threadIdx.x] = 0;
  const int place = 4 * (blockIdx.x * (kSumThreads / kSumShares) + here);
  float4 sum = {};
  if (place < count) {
#pragma unroll 8
    for (int part = share; part < parts; part += kSumShares) {
      const float4 more = *reinterpret_cast<const float4*>(partials + static_cast<int64_t>(part) * count + place);
      sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
  }
  shares[threadIdx.x] = sum;
  __syncthreads();
  if (share != 0 || place >= count) return;
#pragma unroll
  for (int other = 1; other < kSumShares; ++other) {
    const float4 more = shares[threadIdx.x + other];
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  *reinterpret_cast<float4*>(out + place) = sum;
}

// Pairs of blocks that share the terms of each part of the weights: as many as the GPU holds at once. 0: it has no such
// kernel.
inline int weight_parts(int inputs, int width) {
  cudaFuncAttributes of_kernel = {};
  if (cudaFuncGetAttributes(&of_kernel, gradient_of_weights) != cudaSuccess) return 0;
  if (of_kernel.sharedSizeBytes == 0) return 0;  // was compiled for another GPU, and does nothing
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const int of_inputs = static_cast<int>(blocks_for(inputs, kWeightInputs));
  if (of_inputs > kMostOfInputs) return 0;
  const int blocks = of_inputs * static_cast<int>(blocks_for(width, kWeightOutputs));
  if (blocks > kSumThreads) return 0;  // one thread of a block makes each one's `next` zero
  return blocks < multiprocessors / 2 ? multiprocessors / blocks / 2 : 1;
}

inline void launch_gradient_of_weights(const WeightTerms& of, uint32_t* next, float* partials, float* out,
                                       cudaStream_t stream) {
  constexpr int kMemory = kStages * kStageBytes + kSwizzled;
  cudaFuncSetAttribute(gradient_of_weights, cudaFuncAttributeMaxDynamicSharedMemorySize, kMemory);
  const int64_t terms = static_cast<int64_t>(of.hop.max_dst) * (of.hop.fanout + 1);
  const int most = weight_parts(of.inputs, of.width), count = of.inputs * of.width;
  const int wanted = static_cast<int>(blocks_for(terms, 2 * kLeastStages * kTerms));
  const int parts = wanted < most ? wanted : most;
  const dim3 blocks(2 * parts, blocks_for(of.width, kWeightOutputs), blocks_for(of.inputs, kWeightInputs));
  gradient_of_weights<<<blocks, kBringers + kMultipliers, kMemory, stream>>>(of, next, partials);
  HONE_LAUNCH(sum_weight_parts, blocks_for(count, 4 * kSumThreads / kSumShares), kSumThreads, stream)
  (partials, parts, count, next, next ? blocks.y * blocks.z : 0, out);
}

#else  // the tests' emulator of a GPU has no tensor cores

inline int weight_parts(int, int) { return 0; }
inline void launch_gradient_of_weights(const WeightTerms&, uint32_t*, float*, float*, cudaStream_t) {}

#endif

}  // namespace hone
