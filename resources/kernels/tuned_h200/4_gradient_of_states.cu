// definition: graph_ops/level1/4_gradient_of_states
// A team of threads has a source, each thread GROUPS times eight columns of it, and AHEAD loads of readers' rows under
// way. A list of more than LONG readers is left to all teams of its block. Long lists tend to be neighbours, so a block
// has runs of RUN sources that lie far apart. LOADS is where those rows are kept: 0 in L1 and L2, 1 in L2 alone.
// tune: THREADS in 256, 128, 512
// tune: AHEAD in 4, 2, 8
// tune: GROUPS in 2, 1
// tune: LONG in 16, 8, 32
// tune: RUN in 4, 1, 8
// tune: LOADS in 0, 1
// threads: THREADS
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
constexpr uint32_t kHalf = 1u << 15;  // the threshold at which dropout keeps one half
constexpr int64_t kWidest = 1 << 16;  // from here on a column reaches into the row's part of the hashed number
constexpr int64_t kThreadsAtOnce = 1024;  // of a multiprocessor: with half of them busy, a thread has GROUPS groups
constexpr uint32_t kLeastShare = 4;       // readers of a long list that a team has at least

// Of a multiprocessor, as many as have the registers for it: without a number the compiler rather spills some.
constexpr int kResident = AHEAD <= 2 ? 1024 : AHEAD <= 4 ? 768 : 512;

enum class Drops { kNone, kHalf, kAny };

struct Batch {
  const int32_t *begins, *readers, *degrees;
  const char *out_gradient, *states;  // the latter may be `gradient`: who writes an element has read it before
  const int32_t* filled;
  const uint64_t* key;
  char* gradient;
  float scale;
  uint32_t threshold, count, fanout, room, width;
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

// `teams` of a block have `lanes` threads each, which are one of gridDim.y parts of a row's pieces.
struct Teams {
  uint32_t lanes, teams, run;
  Divisor by_lanes, by_run, by_fanout;
};

__device__ inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

__device__ inline __nv_bfloat162 pair_of(uint32_t word) {
  __nv_bfloat162 pair;
  memcpy(&pair, &word, sizeof pair);
  return pair;
}

__device__ inline uint32_t narrowed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

__device__ inline uint4 row_at(const char* place) {
  return LOADS == 0 ? *reinterpret_cast<const uint4*>(place) : __ldcg(reinterpret_cast<const uint4*>(place));
}

__device__ inline void add(float (&sums)[8], const uint4& values, float factor) {
  const uint32_t words[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[2 * i] += factor * __uint_as_float(words[i] << 16);
    sums[2 * i + 1] += factor * __uint_as_float(words[i] & 0xFFFF0000u);
  }
}

// Which of eight elements are positive and kept: word i of group g has bits 4 g + i and 16 + 4 g + i.
template <Drops kDrops>
__device__ inline uint32_t passing(const uint4& values, uint64_t start, uint32_t source, uint32_t threshold, int g) {
  const uint64_t first = start + (kGolden << 17) * source, bits[2] = {mix(first), mix(first + kGolden)};
  const uint32_t words[4] = {values.x, values.y, values.z, values.w};
  uint32_t passes = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t both = static_cast<uint32_t>(bits[i / 2] >> (32 * (i % 2)));
    uint32_t mask;
    if (kDrops == Drops::kHalf) {  // what is dropped is compared as a negative number
      mask = __hgt2_mask(pair_of(words[i] | (~both & 0x80008000u)), pair_of(0));
    } else {
      const uint32_t low = (both & 0xFFFFu) >= threshold ? 0xFFFFu : 0u;
      const uint32_t high = both >> 16 >= threshold ? ~0xFFFFu : 0u;
      mask = __hgt2_mask(pair_of(words[i]), pair_of(0)) & (low | high);
    }
    passes |= mask & (0x00010001u << (4 * g + i));
  }
  return passes;
}

// Adds up what reads a source, for one thread: kGroups times eight columns, `apart` bytes from each other.
template <int kGroups>
struct Readers {
  static constexpr int kAhead = AHEAD > kGroups ? AHEAD / kGroups : 1;  // rows under way at a time

  const int32_t *slots, *degrees;
  const char* here;  // the first group's columns of row 0
  uint32_t row_bytes, apart;
  float scale;
  Divisor fanout;

  __device__ uint4 of_row(uint32_t row, int g) const {
    return row_at(here + static_cast<uint64_t>(row) * row_bytes + g * apart);
  }

  __device__ void find(int at, int step, int stop, int32_t (&found)[kAhead]) const {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (at + i * step < stop) found[i] = slots[at + i * step];
    }
  }

  __device__ Readers<1> group(int g) const { return {slots, degrees, here + g * apart, row_bytes, apart, scale, fanout}; }

  // Adds the rows of slots[at], slots[at + step] and so on below `stop`. The next slots are read meanwhile.
  __device__ void add_all(int at, int step, int stop, int32_t (&found)[kAhead], float (&sums)[kGroups][8]) const {
#pragma unroll 1
    for (; at < stop; at += kAhead * step) {
      uint4 values[kAhead][kGroups];
      int32_t degree[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (at + i * step < stop) {
          const uint32_t row = fanout.divide(static_cast<uint32_t>(found[i]));
#pragma unroll
          for (int g = 0; g < kGroups; ++g) values[i][g] = of_row(row, g);
          degree[i] = degrees[row];
        }
      }
      find(at + kAhead * step, step, stop, found);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (at + i * step < stop) {
          const float share = __fdividef(scale, static_cast<float>(degree[i] > 1 ? degree[i] : 1));
#pragma unroll
          for (int g = 0; g < kGroups; ++g) add(sums[g], values[i][g], share);
        }
      }
    }
  }
};

// Sums of a block's threads, and its long lists: which of them comes first changes no sum.
struct Shared {
  float4 sums[2][THREADS];
  int32_t begin[THREADS], end[THREADS];
  uint32_t team[THREADS];  // whose source it is
  int lists;
};

// All teams of a block add up its long lists, one list and one group at a time, which takes few registers. The list's
// own team calls `finish(sums, group)`.
template <int kGroups, class Finish>
__device__ inline void add_long_lists(Shared& shared, const Readers<kGroups>& readers, const Teams& shape,
                                      uint32_t team, uint32_t lane, bool in_row, const Finish& finish) {
  const int turns = shared.lists * kGroups;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    const int list = turn / kGroups, g = turn % kGroups, begin = shared.begin[list], end = shared.end[list];
    const uint32_t most = static_cast<uint32_t>(end - begin) / kLeastShare;
    const uint32_t helpers = most < shape.teams ? most : shape.teams;
    if (team < helpers && in_row) {
      const Readers<1> part = readers.group(g);
      int32_t found[Readers<1>::kAhead] = {};
      float sums[1][8] = {};
      const int at = begin + static_cast<int>(team), step = static_cast<int>(helpers);
      part.find(at, step, end, found);
      part.add_all(at, step, end, found, sums);
      shared.sums[0][threadIdx.x] = make_float4(sums[0][0], sums[0][1], sums[0][2], sums[0][3]);
      shared.sums[1][threadIdx.x] = make_float4(sums[0][4], sums[0][5], sums[0][6], sums[0][7]);
    }
    __syncthreads();
    if (team == shared.team[list] && in_row) {
      float sums[8] = {};
#pragma unroll 2
      for (uint32_t helper = 0; helper < helpers; ++helper) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float4 more = shared.sums[half][helper * shape.lanes + lane];
          sums[4 * half] += more.x;
          sums[4 * half + 1] += more.y;
          sums[4 * half + 2] += more.z;
          sums[4 * half + 3] += more.w;
        }
      }
      finish(sums, g);
    }
    __syncthreads();
  }
}

template <int kGroups, Drops kDrops>
__global__ void __launch_bounds__(THREADS, kResident / THREADS) gradient_of_rows(Batch batch, Teams shape) {
  __shared__ Shared shared;
  constexpr bool kDropping = kDrops != Drops::kNone;
  const uint32_t team = shape.by_lanes.divide(threadIdx.x), lane = threadIdx.x - team * shape.lanes;
  const uint32_t run = shape.by_run.divide(team), in_run = team - run * shape.run;
  const uint32_t source = (run * gridDim.x + blockIdx.x) * shape.run + in_run;
  const uint32_t row_bytes = 2 * batch.width, apart = row_bytes / kGroups;
  const uint32_t first = 16 * (blockIdx.y * shape.lanes + lane);  // byte of the first group
  const bool in_row = team < shape.teams && first < apart, there = in_row && source < batch.room;
  const float scale = kDropping ? batch.scale : 1.0f;
  const uint64_t place = static_cast<uint64_t>(source) * row_bytes + first;
  const Readers<kGroups> readers = {batch.readers, batch.degrees, batch.out_gradient + first, 2 * row_bytes,
                                    apart,         scale,         shape.by_fanout};

  int32_t begin = 0, end = 0, rows = 0, sources = 0;
  uint64_t start = 0;
  uint4 states[kGroups] = {}, own[kGroups] = {};
  if (there) {  // none of these loads waits for another
    begin = batch.begins[source];
    end = batch.begins[source + 1 < batch.room ? source + 1 : source];
    rows = batch.filled[0];
    sources = batch.filled[1];
    if (kDropping) start = *batch.key + kGolden * first;  // a column is two bytes, and counts twice
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (kDropping) states[g] = __ldcs(reinterpret_cast<const uint4*>(batch.states + place + g * apart));
      if (source < batch.count) own[g] = readers.of_row(source, g + kGroups);  // behind that of the mean
    }
  }
  const bool has_source = static_cast<int32_t>(source) < sources, has_own = static_cast<int32_t>(source) < rows;
  const bool is_long = has_source && end - begin > LONG;
  const int stop = has_source && !is_long ? end : begin;
  int32_t found[Readers<kGroups>::kAhead] = {};
  readers.find(begin, 1, stop, found);
  uint32_t passes = 0;
  if (kDropping) {  // while slots are on their way
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      passes |= passing<kDrops>(states[g], start + kGolden * (g * apart), source, batch.threshold, g);
    }
  }
  float sums[kGroups][8] = {};
  readers.add_all(begin, 1, stop, found, sums);

  const auto finish = [&](float(&of)[8], int g, const uint4& of_own) {
    if (has_own) add(of, of_own, scale);
#pragma unroll
    for (int i = 0; i < 4 && kDropping; ++i) {
      of[2 * i] *= passes >> (4 * g + i) & 1 ? 1.0f : 0.0f;
      of[2 * i + 1] *= passes >> (16 + 4 * g + i) & 1 ? 1.0f : 0.0f;
    }
    *reinterpret_cast<uint4*>(batch.gradient + place + g * apart) =
        make_uint4(narrowed(of[0], of[1]), narrowed(of[2], of[3]), narrowed(of[4], of[5]), narrowed(of[6], of[7]));
  };
  if (there && !is_long) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) finish(sums[g], g, own[g]);
  }
  if (!__syncthreads_or(is_long)) return;
  if (threadIdx.x == 0) shared.lists = 0;
  __syncthreads();
  if (is_long && lane == 0) {
    const int at = atomicAdd(&shared.lists, 1);
    shared.begin[at] = begin;
    shared.end[at] = end;
    shared.team[at] = team;
  }
  __syncthreads();
  add_long_lists(shared, readers, shape, team, lane, in_row, [&](float(&of)[8], int g) {
    finish(of, g, has_own ? readers.of_row(source, g + kGroups) : uint4{});
  });
}

// For rows that do not lie at multiples of 16 bytes: a thread has an element.
__global__ void __launch_bounds__(THREADS) gradient_of_elements(Batch batch) {
  const uint64_t cell = blockIdx.x * static_cast<uint64_t>(THREADS) + threadIdx.x;
  if (cell >= static_cast<uint64_t>(batch.room) * batch.width) return;
  const uint64_t source = cell / batch.width;
  const uint32_t column = static_cast<uint32_t>(cell - source * batch.width);
  const uint16_t* const given = reinterpret_cast<const uint16_t*>(batch.out_gradient);
  const auto widened = [](uint16_t bits) { return __uint_as_float(static_cast<uint32_t>(bits) << 16); };
  float sum = 0.0f;
  if (static_cast<int32_t>(source) < batch.filled[1]) {
    const int begin = batch.begins[source], end = batch.begins[source + 1];
#pragma unroll 4
    for (int at = begin; at < end; ++at) {
      const uint64_t row = static_cast<uint32_t>(batch.readers[at]) / batch.fanout;
      const int degree = batch.degrees[row];
      sum += widened(given[2 * row * batch.width + column]) / static_cast<float>(degree > 1 ? degree : 1);
    }
    if (static_cast<int32_t>(source) < batch.filled[0]) {
      sum += widened(given[(2 * source + 1) * batch.width + column]);
    }
    if (batch.scale != 0.0f) {
      const uint64_t key = *batch.key;
      const uint64_t word = mix(key + kGolden * (2 * (source << 16 | column / 8 * 8) + column % 8 / 4));
      const bool passes = widened(reinterpret_cast<const uint16_t*>(batch.states)[cell]) > 0.0f &&
                          (word >> (16 * (column % 4)) & 0xFFFF) >= batch.threshold;
      sum *= (passes ? 1.0f : 0.0f) * batch.scale;
    }
  }
  reinterpret_cast<uint16_t*>(batch.gradient)[cell] = static_cast<uint16_t>(narrowed(sum, 0.0f));
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t threads_at_once() {
  int device = 0, multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return kThreadsAtOnce * multiprocessors;
}

template <int kGroups>
void launch_rows(const Batch& batch, cudaStream_t stream) {
  const int64_t pieces = batch.width / (8 * kGroups);
  const auto lanes = static_cast<uint32_t>(ceil_div(pieces, ceil_div(pieces, THREADS)));
  const uint32_t run = lanes * RUN <= THREADS ? RUN : 1, teams = THREADS / lanes / run * run;
  const Teams shape = {lanes, teams, run, Divisor(lanes), Divisor(run), Divisor(batch.fanout)};
  const auto kernel = batch.scale == 0.0f       ? gradient_of_rows<kGroups, Drops::kNone>
                      : batch.threshold == kHalf ? gradient_of_rows<kGroups, Drops::kHalf>
                                                 : gradient_of_rows<kGroups, Drops::kAny>;
  const dim3 blocks(static_cast<unsigned>(ceil_div(batch.room, teams)),
                    static_cast<unsigned>(ceil_div(pieces, lanes)));
  kernel<<<blocks, THREADS, 0, stream>>>(batch, shape);
}

}  // namespace

extern "C" void launch_bfloat16(const int32_t* begins, const int32_t* readers, const int32_t* degrees,
                                const __nv_bfloat16* out_gradient, const __nv_bfloat16* states, const int32_t* filled,
                                const int64_t* key, double scale, int64_t threshold, __nv_bfloat16* gradient,
                                int64_t count, int64_t fanout, int64_t room, int64_t width, int64_t both,
                                int64_t sizes, int64_t keys, cudaStream_t stream) {
  if (room <= 0 || width <= 0) return;
  const Batch batch = {
      begins, readers, degrees, reinterpret_cast<const char*>(out_gradient), reinterpret_cast<const char*>(states),
      filled, reinterpret_cast<const uint64_t*>(key), reinterpret_cast<char*>(gradient), static_cast<float>(scale),
      static_cast<uint32_t>(std::min<int64_t>(std::max<int64_t>(threshold, 0), kWidest)),
      static_cast<uint32_t>(count), static_cast<uint32_t>(std::max<int64_t>(fanout, 1)), static_cast<uint32_t>(room),
      static_cast<uint32_t>(width)};
  const auto places = reinterpret_cast<uintptr_t>(states) | reinterpret_cast<uintptr_t>(out_gradient) |
                      reinterpret_cast<uintptr_t>(gradient);
  if (width % 8 != 0 || width > kWidest || places % 16 != 0) {
    const auto blocks = static_cast<unsigned>(ceil_div(room * width, THREADS));
    gradient_of_elements<<<blocks, THREADS, 0, stream>>>(batch);
    return;
  }
  // Where there are few sources, more threads with one group each bring their rows sooner.
  const bool many = width % (8 * GROUPS) == 0 && room * (width / (8 * GROUPS)) > threads_at_once() / 2;
  if (many) {
    launch_rows<GROUPS>(batch, stream);
  } else {
    launch_rows<1>(batch, stream);
  }
}
