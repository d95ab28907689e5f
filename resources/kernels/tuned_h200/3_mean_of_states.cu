// definition: graph_ops/level1/3_mean_of_states
// A team of threads has a row, each thread eight columns of it; where rows are few, up to PARTS teams share one.
// A thread has AHEAD states under way, and computes dropout's hashes of HASHES of them meanwhile.
// LOADS is where states are kept: 0 in L1 and L2, 1 in L2 alone. STORES: 1 for results that make room in the caches.
// tune: THREADS in 128, 64, 256
// tune: AHEAD in 4, 2, 6, 8
// tune: HASHES in 2, 1, 4
// tune: PARTS in 8, 4, 2
// tune: LOADS in 0, 1
// tune: STORES in 1, 0
// where: HASHES <= AHEAD
// threads: THREADS
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
constexpr uint32_t kHalf = 1u << 15;     // the threshold at which dropout keeps one half
constexpr int64_t kWidest = 1 << 16;     // from here on a column reaches into the row's part of the hashed number
constexpr int64_t kThreadsAtOnce = 1024;  // that a multiprocessor holds when every row has enough teams

enum class Drops { kNone, kHalf, kAny };

struct Batch {
  const int32_t *neighbours, *degrees;
  const char* states;
  const int32_t* filled;
  const uint64_t* key;
  char* out;
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

// `teams` of a block have `lanes` threads each, which are one of gridDim.y parts of a row's pieces of eight columns.
struct Teams {
  uint32_t lanes, teams, parts_log;
  Divisor by_lanes;
};

__device__ inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

__device__ inline uint4 state_at(const char* place) {
  return LOADS == 0 ? *reinterpret_cast<const uint4*>(place) : __ldcg(reinterpret_cast<const uint4*>(place));
}

__device__ inline void put(char* place, const uint4& words) {
  if (STORES == 0) {
    *reinterpret_cast<uint4*>(place) = words;
  } else {
    __stcs(reinterpret_cast<uint4*>(place), words);
  }
}

__device__ inline __nv_bfloat162 pair_of(uint32_t word) {
  __nv_bfloat162 pair;
  memcpy(&pair, &word, sizeof pair);
  return pair;
}

__device__ inline uint32_t word_of(__nv_bfloat162 pair) {
  uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

__device__ inline uint32_t narrowed(float low, float high) { return word_of(__floats2bfloat162_rn(low, high)); }

__device__ inline uint4 narrowed(const float (&sums)[8]) {
  return make_uint4(narrowed(sums[0], sums[1]), narrowed(sums[2], sums[3]), narrowed(sums[4], sums[5]),
                    narrowed(sums[6], sums[7]));
}

// Two elements, each times one where it is positive and kept, else times zero. `bits` are 16 of the hash for each.
template <Drops kDrops>
__device__ inline uint32_t passed(uint32_t word, uint32_t bits, uint32_t threshold) {
  uint32_t mask;
  if (kDrops == Drops::kHalf) {  // what is dropped is compared as a negative number
    mask = __hgt2_mask(pair_of(word | (~bits & 0x80008000u)), pair_of(0));
  } else {
    const uint32_t low = (bits & 0xFFFFu) >= threshold ? 0xFFFFu : 0u, high = bits >> 16 >= threshold ? ~0xFFFFu : 0u;
    mask = __hgt2_mask(pair_of(word), pair_of(0)) & (low | high);
  }
  return word_of(__hmul2(pair_of(word), pair_of(mask & 0x3F803F80u)));
}

// Eight columns of the states, and what dropout makes of them.
template <Drops kDrops>
struct Columns {
  const char* here;  // in row 0
  uint32_t row_bytes, threshold;
  uint64_t start;  // of the hash, for row 0

  __device__ uint4 load(uint32_t row) const { return state_at(here + static_cast<uint64_t>(row) * row_bytes); }

  __device__ void hash(uint32_t row, uint64_t (&bits)[2]) const {
    if (kDrops == Drops::kNone) return;
    const uint64_t first = start + (kGolden << 17) * row;
    bits[0] = mix(first);
    bits[1] = mix(first + kGolden);
  }

  __device__ void add(float (&sums)[8], const uint4& values, const uint64_t (&bits)[2]) const {
    const uint32_t words[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint32_t word = words[i];
      if (kDrops != Drops::kNone) {
        word = passed<kDrops>(word, static_cast<uint32_t>(bits[i / 2] >> (32 * (i % 2))), threshold);
      }
      sums[2 * i] += __uint_as_float(word << 16);
      sums[2 * i + 1] += __uint_as_float(word & 0xFFFF0000u);
    }
  }
};

// Adds the states of list[at], list[at + step] and so on below `stop`; `rows` has the first AHEAD of them.
template <Drops kDrops>
__device__ inline void add_states(const Columns<kDrops>& columns, const int32_t* list, int at, int step, int stop,
                                  int32_t (&rows)[AHEAD], float (&sums)[8]) {
#pragma unroll 1
  for (; at < stop; at += AHEAD * step) {
    uint4 values[AHEAD];
    uint64_t bits[HASHES][2];
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      if (at + i * step < stop) values[i] = columns.load(rows[i]);
    }
#pragma unroll
    for (int i = 0; i < HASHES; ++i) {
      if (at + i * step < stop) columns.hash(rows[i], bits[i]);
    }
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      const int next = at + (i + AHEAD) * step;
      if (at + i * step < stop) {
        if (i >= HASHES) columns.hash(rows[i], bits[i % HASHES]);
        columns.add(sums, values[i], bits[i % HASHES]);
      }
      if (next < stop) rows[i] = list[next];
    }
  }
}

// Part p of a row adds neighbours p, p + parts and so on; the last, which may have fewer, sees to the own state.
template <Drops kDrops>
__global__ void __launch_bounds__(THREADS) mean_of_rows(Batch batch, Teams shape) {
  __shared__ float4 shared[2][THREADS];
  const uint32_t team = shape.by_lanes.divide(threadIdx.x), lane = threadIdx.x - team * shape.lanes;
  const int parts = 1 << shape.parts_log, part = static_cast<int>(team) & (parts - 1);
  const uint32_t row = blockIdx.x * (shape.teams >> shape.parts_log) + (team >> shape.parts_log);
  const uint32_t column = 8 * (blockIdx.y * shape.lanes + lane), row_bytes = 2 * batch.width;
  const bool there = team < shape.teams && row < batch.count && column < batch.width;
  char* const to = batch.out + static_cast<uint64_t>(row) * (2 * row_bytes) + 2 * column;
  const float scale = kDrops == Drops::kNone ? 1.0f : batch.scale;
  float sums[8] = {};
  int degree = 0;
  if (there) {
    // None of these loads waits for another. Slots behind a row's degree hold numbers that are not used.
    Columns<kDrops> columns = {batch.states + 2 * column, row_bytes, batch.threshold, 0};
    const bool has_own = part == parts - 1;
    const int32_t* const list = batch.neighbours + static_cast<uint64_t>(row) * batch.fanout;
    const int32_t listed = batch.degrees[row], filled = batch.filled[0];
    int32_t rows[AHEAD] = {};
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      if (part + i * parts < static_cast<int>(batch.fanout)) rows[i] = list[part + i * parts];
    }
    uint4 mine = {};
    if (has_own && row < batch.room) mine = columns.load(row);
    if (kDrops != Drops::kNone) columns.start = *batch.key + 2 * kGolden * column;

    const bool has_row = static_cast<int32_t>(row) < filled;
    degree = has_row ? listed : 0;
    add_states<kDrops>(columns, list, part, parts, degree, rows, sums);
    if (has_own) {
      float own[8] = {};
      uint64_t bits[2] = {};
      columns.hash(row, bits);
      if (has_row) columns.add(own, mine, bits);
#pragma unroll
      for (int i = 0; i < 8; ++i) own[i] *= scale;
      put(to + row_bytes, narrowed(own));
    }
  }
  if (parts > 1) {  // the same for all threads of the launch
    shared[0][threadIdx.x] = make_float4(sums[0], sums[1], sums[2], sums[3]);
    shared[1][threadIdx.x] = make_float4(sums[4], sums[5], sums[6], sums[7]);
    __syncthreads();
  }
  if (!there || part != 0) return;
#pragma unroll 2
  for (int p = 1; p < parts; ++p) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 more = shared[half][threadIdx.x + p * shape.lanes];
      sums[4 * half] += more.x;
      sums[4 * half + 1] += more.y;
      sums[4 * half + 2] += more.z;
      sums[4 * half + 3] += more.w;
    }
  }
  const float share = __fdividef(scale, static_cast<float>(degree > 1 ? degree : 1));
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i] *= share;
  put(to, narrowed(sums));
}

// One element of a state behind ReLU and dropout, times the scale.
__device__ inline float element(const Batch& batch, uint64_t key, uint64_t row, uint32_t column) {
  const uint16_t bits = reinterpret_cast<const uint16_t*>(batch.states)[row * batch.width + column];
  const float value = __uint_as_float(static_cast<uint32_t>(bits) << 16);
  if (batch.scale == 0.0f) return value;
  const uint64_t word = mix(key + kGolden * (2 * (row << 16 | column / 8 * 8) + column % 8 / 4));
  const bool passes = value > 0.0f && (word >> (16 * (column % 4)) & 0xFFFF) >= batch.threshold;
  return value * (passes ? 1.0f : 0.0f) * batch.scale;
}

// For rows that do not lie at multiples of 16 bytes: a thread has an element.
__global__ void __launch_bounds__(THREADS) mean_of_elements(Batch batch) {
  const uint64_t cell = blockIdx.x * static_cast<uint64_t>(THREADS) + threadIdx.x;
  if (cell >= static_cast<uint64_t>(batch.count) * batch.width) return;
  const uint64_t row = cell / batch.width;
  const uint32_t column = static_cast<uint32_t>(cell - row * batch.width);
  const bool has_row = static_cast<int32_t>(row) < batch.filled[0];
  const int degree = has_row ? batch.degrees[row] : 0;
  float sum = 0.0f;
#pragma unroll 4
  for (int k = 0; k < degree; ++k) {
    sum += element(batch, *batch.key, static_cast<uint32_t>(batch.neighbours[row * batch.fanout + k]), column);
  }
  const float own = has_row ? element(batch, *batch.key, row, column) : 0.0f;
  uint16_t* const to = reinterpret_cast<uint16_t*>(batch.out) + 2 * row * batch.width + column;
  to[0] = static_cast<uint16_t>(narrowed(sum / static_cast<float>(degree > 1 ? degree : 1), 0.0f));
  to[batch.width] = static_cast<uint16_t>(narrowed(own, 0.0f));
}

int64_t ceil_div(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

int64_t threads_at_once() {
  int device = 0, multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return kThreadsAtOnce * multiprocessors;
}

// How a block's threads are shared among rows of `pieces` times eight columns.
Teams teams_for(const Batch& batch, int64_t pieces) {
  uint32_t parts_log = 0;
  const int64_t threads = batch.count * pieces, most = threads_at_once();
  while ((2 << parts_log) <= PARTS && (threads << (parts_log + 1)) <= most &&
         (pieces << (parts_log + 1)) <= THREADS && (uint32_t{2} << parts_log) <= batch.fanout) {
    ++parts_log;
  }
  const auto lanes = static_cast<uint32_t>(ceil_div(pieces, ceil_div(pieces, THREADS)));
  return {lanes, THREADS / lanes >> parts_log << parts_log, parts_log, Divisor(lanes)};
}

}  // namespace

extern "C" void launch_bfloat16(const int32_t* neighbours, const int32_t* degrees, const __nv_bfloat16* states,
                                const int32_t* filled, const int64_t* key, double scale, int64_t threshold,
                                __nv_bfloat16* out, int64_t count, int64_t fanout, int64_t room, int64_t width,
                                int64_t both, int64_t sizes, int64_t keys, cudaStream_t stream) {
  if (count <= 0 || width <= 0) return;
  const Batch batch = {
      neighbours, degrees, reinterpret_cast<const char*>(states), filled, reinterpret_cast<const uint64_t*>(key),
      reinterpret_cast<char*>(out), static_cast<float>(scale),
      static_cast<uint32_t>(std::min<int64_t>(std::max<int64_t>(threshold, 0), kWidest)),
      static_cast<uint32_t>(count), static_cast<uint32_t>(fanout), static_cast<uint32_t>(room),
      static_cast<uint32_t>(width)};
  const auto places = reinterpret_cast<uintptr_t>(states) | reinterpret_cast<uintptr_t>(out);
  if (width % 8 != 0 || width > kWidest || places % 16 != 0) {
    const auto blocks = static_cast<unsigned>(ceil_div(count * width, THREADS));
    mean_of_elements<<<blocks, THREADS, 0, stream>>>(batch);
    return;
  }
  const Teams teams = teams_for(batch, width / 8);
  const auto kernel = batch.scale == 0.0f       ? mean_of_rows<Drops::kNone>
                      : batch.threshold == kHalf ? mean_of_rows<Drops::kHalf>
                                                 : mean_of_rows<Drops::kAny>;
  const dim3 blocks(static_cast<unsigned>(ceil_div(count, teams.teams >> teams.parts_log)),
                    static_cast<unsigned>(ceil_div(width / 8, teams.lanes)));
  kernel<<<blocks, THREADS, 0, stream>>>(batch, teams);
}
