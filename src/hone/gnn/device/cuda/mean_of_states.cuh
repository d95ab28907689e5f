// A later layer's input, the mean over neighbours' states. All sums are float32; rows are of bfloat16.
#pragma once

#include "dropout.cuh"
#include "teams.cuh"

namespace hone {

constexpr int kMeanThreads = 128;
constexpr int kStatesAhead = 4;  // loads of states that a thread has under way
constexpr int kHashesAhead = 2;  // of those, for which dropout's hash is computed meanwhile: more need more registers
constexpr int kMostPartsLog = 3;

// Adds those of eight elements of a state that ReLU and dropout let through; what is not finite stays so. Returns which
// these are, as `eight_passing`.
template <Drops kDrops>
__device__ inline uint32_t add_kept(float (&sums)[8], const Eight& values, const uint64_t (&bits)[2],
                                    uint32_t threshold) {
  uint32_t passes = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t both = static_cast<uint32_t>(bits[i / 2] >> (32 * (i % 2)));
    const uint32_t word = values.words[i], mask = passing<kDrops>(word, both, threshold);
    passes |= mask & (0x00010001u << i);
    const float2 pair = widen<__nv_bfloat16>(masked(word, mask));
    sums[2 * i] += pair.x;
    sums[2 * i + 1] += pair.y;
  }
  return passes;
}

// States of one layer, as one thread reads its eight columns of them. With kNotes it notes what passes of each.
template <Drops kDrops, bool kNotes>
struct StatesSeen {
  const char* here;  // the columns of row 0
  uint32_t row_bytes;
  uint64_t start;  // of the dropout's hash
  uint32_t threshold;
  uint8_t* notes;  // of row 0

  __device__ Eight load(uint32_t row) const { return eight_at(here + static_cast<uint64_t>(row) * row_bytes); }

  __device__ void choose(uint32_t row, uint64_t (&bits)[2]) const {
    if (kDrops != Drops::kNone) dropout_bits(start, row, bits);
  }

  __device__ void add(float (&sums)[8], const Eight& values, const uint64_t (&bits)[2], uint32_t row) const {
    if (kDrops == Drops::kNone) {
      hone::add<__nv_bfloat16>(sums, values, 1.0f);
    } else {
      const uint32_t passes = add_kept<kDrops>(sums, values, bits, threshold);
      if (kNotes) notes[row * (row_bytes / 16)] = note_of(passes);  // whoever reads the state notes the same
    }
  }
};

// Adds the states of list[at], list[at + step] and so on below `stop`; the first kStatesAhead are in `sources`. Part of
// what dropout keeps is computed while states are on their way; a source that was used makes room for a later one.
template <Drops kDrops, bool kNotes>
__device__ inline void add_states(const StatesSeen<kDrops, kNotes>& states, const int32_t* list, int at, int step,
                                  int stop, int32_t (&sources)[kStatesAhead], float (&sums)[8]) {
#pragma unroll 1
  for (; at < stop; at += kStatesAhead * step) {
    Eight values[kStatesAhead];
    constexpr int kHashes = kNotes ? 1 : kHashesAhead;
    uint64_t bits[kHashes][2];
#pragma unroll
    for (int i = 0; i < kStatesAhead; ++i) {
      if (at + i * step < stop) values[i] = states.load(sources[i]);
    }
#pragma unroll
    for (int i = 0; i < kHashes; ++i) {
      if (at + i * step < stop) states.choose(sources[i], bits[i]);
    }
#pragma unroll
    for (int i = 0; i < kStatesAhead; ++i) {
      const int next = at + (i + kStatesAhead) * step;
      if (at + i * step < stop) {
        if (i >= kHashes) states.choose(sources[i], bits[i % kHashes]);
        states.add(sums, values[i], bits[i % kHashes], sources[i]);
      }
      if (next < stop) sources[i] = list[next];
    }
  }
}

// [mean of the neighbours' states | own state] behind ReLU and dropout, zeros for rows up to `max_dst` that the batch
// does not have. Where there are few rows, `parts` teams share each: part p adds neighbours p, p + parts and so on, and
// the last, which may have fewer, sees to the row's own state. The first adds up their sums, in order.
// `notes` (max_src, width / 8), with kNotes: what passes of each state that the batch has, a bit for each element.
template <Drops kDrops, bool kNotes>
__global__ void __launch_bounds__(kMeanThreads, 1024 / kMeanThreads)
    mean_of_states(Hop hop, const void* states, int width, Dropout dropout, Teams teams, int parts_log, uint8_t* notes,
                   void* out) {
  __shared__ SharedSums<kMeanThreads> shared;
  const Member me = member_of(teams);
  const int parts = 1 << parts_log, part = static_cast<int>(me.team) & (parts - 1);
  const uint32_t row = blockIdx.x * (teams.count >> parts_log) + (me.team >> parts_log);
  const uint32_t row_bytes = 2 * width, begin = 16 * me.piece;
  const bool there = me.team < teams.count && row < static_cast<uint32_t>(hop.max_dst) && begin < row_bytes;
  char* const to = static_cast<char*>(out) + static_cast<uint64_t>(row) * (2 * row_bytes) + begin;
  const float scale = kDrops != Drops::kNone ? dropout.scale : 1.0f;
  float sums[8] = {};
  int num = 0;
  if (there) {
    // None of these loads waits for another.
    StatesSeen<kDrops, kNotes> seen = {
        static_cast<const char*>(states) + begin, row_bytes, 0, dropout.threshold, notes + me.piece
    };
    const bool has_own = part == parts - 1;
    const int32_t* const list = hop.neighbours + static_cast<uint64_t>(row) * static_cast<uint32_t>(hop.fanout);
    const int32_t degree = hop.degrees[row], rows = rows_of(hop);
    int32_t sources[kStatesAhead] = {};
#pragma unroll
    for (int i = 0; i < kStatesAhead; ++i) {
      if (part + i * parts < hop.fanout) sources[i] = list[part + i * parts];
    }
    Eight mine = {};
    if (has_own && row < static_cast<uint32_t>(hop.max_src)) mine = seen.load(row);
    if (kDrops != Drops::kNone) seen.start = dropout_start(*dropout.key, 8 * static_cast<int>(me.piece));

    const bool filled = row < static_cast<uint32_t>(rows);
    num = filled ? degree : 0;
    add_states(seen, list, part, parts, num, sources, sums);
    if (has_own) {
      float own[8] = {};
      uint64_t bits[2] = {};
      seen.choose(row, bits);
      if (filled) seen.add(own, mine, bits, row);
      scale_by(scale, own);
      write_once(to + row_bytes, narrowed(own));
    }
  }
  if (parts > 1) {
    shared.put(sums);
    __syncthreads();
  }
  if (!there || part != 0) return;
#pragma unroll 2
  for (int p = 1; p < parts; ++p) shared.add_to(sums, threadIdx.x + p * teams.lanes);
  scale_by(__fdividef(scale, static_cast<float>(num > 1 ? num : 1)), sums);
  write_once(to, narrowed(sums));
}

}  // namespace hone
