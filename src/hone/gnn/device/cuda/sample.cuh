// One hop of a batch: local ids for the neighbours that it drew (draw.cuh), in the order in which a batch meets them,
// so that a batch is the same as the C++ sampler's, whatever runs first on the GPU.
#pragma once

#include "common.cuh"
#include "../../sampling/cpp/random.h"

namespace hone {

constexpr int kMaxFanout = 32;

// One hop's part of a batch. Neighbours have fixed places: those of destination i are slots i * fanout and on.
struct Hop {
  int32_t fanout;
  int32_t index;         // 0: the seeds' own neighbours
  int32_t first_slot;    // of this hop in the batch's numbering
  int32_t max_dst;       // rows that there is room for
  int32_t max_src;
  int32_t* neighbours;   // (max_dst * fanout) global ids; local ones after `relabel`
  int32_t* degrees;      // (max_dst) neighbours that were drawn
  int32_t* sizes;        // nodes after each hop: sizes[index] destinations, sizes[index + 1] sources
};

__device__ inline int32_t rows_of(const Hop& hop) { return hop.sizes[hop.index]; }

// Slots as 32 bits, which is what the map has for them: dividing 64 would cost more than the memory it waits for.
__device__ inline uint32_t global_slot() { return static_cast<uint32_t>(global_thread()); }

__device__ inline int64_t between(int64_t value, int64_t most) { return value < 0 ? 0 : value < most ? value : most; }

// Puts the batch's seeds in front of its nodes. `global_seeds` counts those of all processes. `overflow` becomes 1 in a
// later hop that finds more than there is room for; the batch is then of no use and has to be made again with more room.
// `keys` are those of the batch's dropout, one for each layer; a batch of another rank has others. The seeds' labels are
// fetched now, since a step would wait for them: they lie all over a large array.
__global__ void begin_batch(
    const Progress* progress, Map map, const int64_t* order, const int64_t* labels, int32_t* nodes, int32_t* locals,
    int64_t* seed_labels, int32_t* sizes, int32_t* global_seeds, int32_t* overflow, uint64_t rank, uint64_t* keys,
    int layers
) {
  const int64_t first = progress->batch * progress->batch_size;
  const int64_t count = between(progress->num_seeds - first, progress->batch_size);
  const int64_t i = global_thread();
  if (i == 0) {
    sizes[0] = static_cast<int32_t>(count);
    const int64_t all = progress->batch_size * progress->world;
    *global_seeds = static_cast<int32_t>(between(progress->all_seeds - progress->batch * all, all));
    *overflow = 0;
  }
  if (i < layers) keys[i] = hop_key(mix(progress->seed) ^ rank, progress->epoch, progress->batch, 1000 + i);
  if (i >= count) return;
  const int32_t node = static_cast<int32_t>(order[first + i]);
  nodes[i] = node;
  locals[i] = static_cast<int32_t>(i);
  seed_labels[i] = labels[node];
  atomicMin(map.entries + node, tag_of(map, *progress) | static_cast<uint32_t>(i));
}

// Exclusive sum over the threads of a block, and the sum of all.
__device__ inline int32_t block_exclusive_sum(int32_t mine, int32_t& all) {
  __shared__ int32_t sums[kThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int32_t through = mine;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int32_t other = __shfl_up_sync(0xFFFFFFFFu, through, distance);
    if (lane >= distance) through += other;
  }
  if (lane == 31) sums[warp] = through;
  __syncthreads();
  int32_t before = through - mine;
  all = 0;
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += sums[w];
    all += sums[w];
  }
  return before;
}

// A number for each sum over blocks: `which` is the hop's first or second.
__device__ inline uint32_t turn_of(const Progress& progress, const Hop& hop, int which) {
  return static_cast<uint32_t>(progress.drawn * 64 + 2 * hop.index + which);
}

// Sum of what all blocks before this one have published. A block waits for those before it alone, which a GPU starts
// first, so that they end whatever else runs there. `published` holds (turn << 32 | sum) for each block, so that nobody
// has to clear it: `turn` is new each time.
__device__ inline int32_t sum_before(uint64_t* published, uint32_t turn, int32_t mine) {
  __shared__ int32_t before;
  if (threadIdx.x == 0) {
    before = 0;
    atomicExch(reinterpret_cast<unsigned long long*>(published + blockIdx.x),
               static_cast<unsigned long long>(turn) << 32 | static_cast<uint32_t>(mine));
  }
  __syncthreads();
  int32_t sum = 0;
  for (unsigned b = threadIdx.x; b < blockIdx.x; b += blockDim.x) {
    volatile uint64_t* theirs = published + b;
    uint64_t value = *theirs;
    while (static_cast<uint32_t>(value >> 32) != turn) value = *theirs;
    sum += static_cast<int32_t>(static_cast<uint32_t>(value));
  }
  if (sum) atomicAdd(&before, sum);
  __syncthreads();
  return before;
}

// Gives local ids to the nodes that this hop met first, in the order of slots, and puts them behind the others.
// `counts` (max_src) becomes zero, for `relabel`. A thread for each slot.
__global__ void number_nodes(
    const Progress* progress, Map map, Hop hop, int32_t* nodes, int32_t* locals, int32_t* counts,
    uint64_t* published, int32_t* overflow
) {
  const int32_t rows = rows_of(hop);
  const uint32_t slot = global_slot(), fanout = hop.fanout, row = slot / fanout;
  const bool in_row = row < static_cast<uint32_t>(rows);
  const int32_t node = in_row ? hop.neighbours[slot] : 0;
  const bool there = in_row && static_cast<int32_t>(slot % fanout) < hop.degrees[row];
  const bool fresh = there && map.entries[node] == (tag_of(map, *progress) | (hop.first_slot + slot));
  for (int64_t i = slot; i < hop.max_src; i += static_cast<int64_t>(gridDim.x) * blockDim.x) counts[i] = 0;
  int32_t all;
  const int32_t within = block_exclusive_sum(fresh, all);
  const int32_t local = rows + sum_before(published, turn_of(*progress, hop, 1), all) + within;
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == kThreads - 1) {
    const int32_t total = local + fresh;
    hop.sizes[hop.index + 1] = total < hop.max_src ? total : hop.max_src;
    if (total > hop.max_src) *overflow = 1;
  }
  if (!fresh) return;
  if (local < hop.max_src) nodes[local] = node;
  locals[hop.first_slot + slot] = local < hop.max_src ? local : 0;
}

// Global ids of neighbours to local ones; `ranks`, unless it is 0, says how many slots with the same neighbour came
// before, in no order.
__global__ void relabel(Map map, Hop hop, const int32_t* locals, int32_t* counts, int32_t* ranks) {
  const uint32_t slot = global_slot(), fanout = hop.fanout, row = slot / fanout;
  if (row >= static_cast<uint32_t>(rows_of(hop)) || static_cast<int32_t>(slot % fanout) >= hop.degrees[row]) return;
  const uint32_t entry = map.entries[hop.neighbours[slot]] & ((1u << map.slot_bits) - 1);
  const int32_t local = locals[entry];
  hop.neighbours[slot] = local;
  if (ranks) ranks[slot] = atomicAdd(counts + local, 1);
}

// For every source where its slots begin in `readers`: offsets (max_src + 1). A thread for each.
__global__ void offset_readers(const Progress* progress, Hop hop, const int32_t* counts, int32_t* offsets,
                               uint64_t* published) {
  const int32_t sources = hop.sizes[hop.index + 1];
  const int64_t source = global_thread();
  int32_t all;
  const int32_t within = block_exclusive_sum(source < sources ? counts[source] : 0, all);
  const int32_t offset = sum_before(published, turn_of(*progress, hop, 2), all) + within;
  if (source <= sources) offsets[source] = offset;
}

// The slots that read each source, the inverse of `neighbours`: readers[offsets[s]] .. readers[offsets[s + 1] - 1].
__global__ void list_readers(Hop hop, const int32_t* offsets, const int32_t* ranks, int32_t* readers) {
  const uint32_t slot = global_slot(), fanout = hop.fanout, row = slot / fanout;
  if (row >= static_cast<uint32_t>(rows_of(hop)) || static_cast<int32_t>(slot % fanout) >= hop.degrees[row]) return;
  readers[offsets[hop.neighbours[slot]] + ranks[slot]] = static_cast<int32_t>(slot);
}

// Each source's readers in ascending order, so that sums over them have the same bits every time. Slow for hubs.
__global__ void sort_readers(Hop hop, const int32_t* offsets, int32_t* readers) {
  const int64_t source = global_thread();
  if (source >= hop.sizes[hop.index + 1]) return;
  const int32_t begin = offsets[source], end = offsets[source + 1];
  for (int32_t i = begin + 1; i < end; ++i) {
    const int32_t slot = readers[i];
    int32_t at = i;
    for (; at > begin && readers[at - 1] > slot; --at) readers[at] = readers[at - 1];
    readers[at] = slot;
  }
}

// Moves on; `seen` lies in the host's memory, where it is read once this batch has been waited for.
__global__ void end_batch(Progress* progress, const int32_t* overflow, int32_t* seen) {
  *seen = *overflow;
  ++progress->batch;
  ++progress->drawn;
}

}  // namespace hone
