// Backward of `mean_of_states`. All sums are float32; rows are of bfloat16.
#pragma once

#include "dropout.cuh"
#include "teams.cuh"

namespace hone {

constexpr int kLongList = 16;  // readers; all teams of a block share a longer list
constexpr int kRunLog = 2;  // of sources whose offsets are read together
constexpr int kLeastShare = 4;  // readers that each of them has at least

// What reads a source, added up by one thread in kGroups groups of eight columns, `apart` bytes from each other. A
// reader is a slot, row * fanout + k, of a row of out_gradient.
template <int kGroups>
struct Readers {
  static constexpr int kAhead = 4 / kGroups;  // rows that are under way at a time

  const int32_t* slots;
  const int32_t* degrees;
  const char* here;  // the first group's columns of row 0
  uint32_t row_bytes, apart;
  float scale;  // of all that is added
  Divisor fanout;

  __device__ void find(int at, int step, int stop, int32_t (&found)[kAhead]) const {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (at + i * step < stop) found[i] = slots[at + i * step];
    }
  }

  // Adds the rows of slots[at], slots[at + step] and so on below `stop`, the first kAhead of which are in `found`. The
  // next are found while rows are on their way.
  __device__ void add_all(int at, int step, int stop, int32_t (&found)[kAhead], float (&sums)[kGroups][8]) const {
#pragma unroll 1
    for (; at < stop; at += kAhead * step) {
      Eight values[kAhead][kGroups];
      int32_t degree[kAhead] = {};
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
          const float share = __fdividef(scale, static_cast<float>(degree[i]));
#pragma unroll
          for (int g = 0; g < kGroups; ++g) add<__nv_bfloat16>(sums[g], values[i][g], share);
        }
      }
    }
  }

  __device__ Eight of_row(uint32_t row, int group) const {
    return eight_at(here + static_cast<uint64_t>(row) * row_bytes + group * apart);
  }

  __device__ Readers<1> group(int which) const {
    return {slots, degrees, here + which * apart, row_bytes, apart, scale, fanout};
  }

  // The gradient of a row's own state lies behind that of its mean.
  __device__ Eight own(uint32_t row, int group) const {
    return eight_at(here + static_cast<uint64_t>(row) * row_bytes + row_bytes / 2 + group * apart);
  }
};

// A block's lists that are too long for one team. Which comes first says nothing about what any of them adds up to.
struct LongLists {
  struct List {
    int32_t begin, end;
    uint32_t team;  // whose source it is
  };

  SharedSums<kThreads> sums;
  List lists[kThreads];
  int count;

  __device__ void note(int32_t begin, int32_t end, uint32_t team) { lists[atomicAdd(&count, 1)] = {begin, end, team}; }
};

// All teams of a block add up the lists that its teams have noted, one list and one group of columns at a time, which
// takes few registers. `finish(sums, g)` is called by the list's own team.
template <int kGroups, class Finish>
__device__ inline void share_long_lists(LongLists& shared, const Readers<kGroups>& readers, const Teams& teams,
                                        const Member& me, bool in_row, const Finish& finish) {
  __syncthreads();
  const int turns = shared.count * kGroups;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    const LongLists::List list = shared.lists[turn / kGroups];
    const int g = turn % kGroups;
    // Each should have some readers to add up, before somebody adds up what each has.
    const uint32_t most = static_cast<uint32_t>(list.end - list.begin) / kLeastShare;
    const uint32_t helpers = most < teams.count ? most : teams.count;
    if (me.team < helpers && in_row) {
      const Readers<1> part = readers.group(g);
      const int at = list.begin + static_cast<int>(me.team), step = static_cast<int>(helpers);
      int32_t found[Readers<1>::kAhead];
      float sums[1][8] = {};
      part.find(at, step, list.end, found);
      part.add_all(at, step, list.end, found, sums);
      shared.sums.put(sums[0]);
    }
    __syncthreads();
    if (me.team == list.team && in_row) {
      float sums[8] = {};
#pragma unroll 2
      for (uint32_t helper = 0; helper < helpers; ++helper) shared.sums.add_to(sums, helper * teams.lanes + me.lane);
      finish(sums, g);
    }
    __syncthreads();
  }
}

// The gradient of what was stored in `states`, from that of `out`, as a gather over the slots that read each source.
// Zeros for sources up to `max_src` that the batch does not have. `gradient` may be `states`: the thread that reads an
// element of one, before anything else, is the only one that writes that of the other. Where `notes` say what passes of
// each state, states are not read at all: they are most of what there is to read.
// Most sources have one reader, and what takes time is finding it, not adding it up: whatever can be asked for is asked
// for at once. A few have thousands, and they tend to be neighbours: a block has runs of 2^run_log sources, gridDim.x
// runs apart.
template <int kGroups, Drops kDrops>
__global__ void __launch_bounds__(kThreads, 1024 / kThreads)
    gradient_of_states(Hop hop, const int32_t* offsets, const int32_t* slots, const void* out_gradient,
                       const void* states, const uint8_t* notes, int width, Dropout dropout, Teams teams, int run_log,
                       Divisor fanout, void* gradient) {
  __shared__ LongLists shared;
  if (threadIdx.x == 0) shared.count = 0;
  __syncthreads();

  const Member me = member_of(teams);
  const uint32_t run = me.team >> run_log, in_run = me.team & ((1u << run_log) - 1);
  const uint32_t source = ((run * gridDim.x + blockIdx.x) << run_log) + in_run;
  const uint32_t max_src = hop.max_src, row_bytes = 2 * width;
  const uint32_t apart = row_bytes / kGroups, first = 16 * me.piece;
  const bool in_row = first < apart, there = source < max_src && in_row;  // threads left over have no source
  constexpr bool kDropping = kDrops != Drops::kNone, kNoted = kDrops == Drops::kNoted;
  const float scale = kDropping ? dropout.scale : 1.0f;
  const uint64_t place = static_cast<uint64_t>(source) * row_bytes + first;
  const Readers<kGroups> readers = {
      slots, hop.degrees, static_cast<const char*>(out_gradient) + first, 2 * row_bytes, apart, scale, fanout
  };

  int32_t begin = 0, end = 0, num_rows = 0, num_sources = 0;
  uint64_t key = 0;
  Eight values[kGroups] = {}, own[kGroups] = {};
  uint32_t note[kGroups] = {};
  if (there) {  // nothing here waits for anything
    begin = offsets[source];
    end = offsets[source + 1 < max_src ? source + 1 : source];
    num_rows = rows_of(hop);
    num_sources = hop.sizes[hop.index + 1];
    if (kDropping && !kNoted) key = *dropout.key;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (kNoted) {
        note[g] = notes[(place + g * apart) / 16];
      } else if (kDropping) {
        values[g] = eight_read_once(static_cast<const char*>(states) + place + g * apart);
      }
      if (!kNoted && source < static_cast<uint32_t>(hop.max_dst)) own[g] = readers.own(source, g);
    }
  }
  const bool filled = static_cast<int32_t>(source) < num_sources, has_own = static_cast<int32_t>(source) < num_rows;
  // There may be nothing to read behind the last source's offset unless the batch has that source.
  if (filled && source + 1 == max_src) end = offsets[max_src];

  const bool is_long = filled && end - begin > kLongList;
  const int stop = filled && !is_long ? end : begin;
  int32_t found[Readers<kGroups>::kAhead] = {};
  readers.find(begin, 1, stop, found);
  if (is_long && me.lane == 0) shared.note(begin, end, me.team);
  uint32_t passes = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {  // while slots are on their way
    uint64_t bits[2] = {};
    if (kNoted) {
      passes |= passes_of(note[g], g);
    } else {
      if (kDropping) dropout_bits(dropout_start(key, static_cast<int>((first + g * apart) / 2)), source, bits);
      passes |= eight_passing<kDrops>(values[g], bits, dropout.threshold, g);
    }
  }
  if (!filled) passes = 0;
  float sums[kGroups][8] = {};
  readers.add_all(begin, 1, stop, found, sums);

  char* const to = static_cast<char*>(gradient) + place;
  const auto finish = [&](float(&of_group)[8], int g, const Eight& of_own) {
    if (has_own) add<__nv_bfloat16>(of_group, of_own, scale);
    *reinterpret_cast<Eight*>(to + g * apart) = passed(of_group, passes, g);
  };
  if (there && !is_long) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {  // few sources have an own row: kNoted keeps its registers for others
      finish(sums[g], g, kNoted && has_own ? readers.own(source, g) : own[g]);
    }
  }
  share_long_lists<kGroups>(shared, readers, teams, me, in_row, [&](float(&of_list)[8], int g) {
    finish(of_list, g, has_own ? readers.own(source, g) : Eight{});
  });
}

}  // namespace hone
