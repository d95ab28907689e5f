// The draw of a hop's neighbours: the C++ sampler's numbers (random.h, choose.h), a lane of a warp for each draw.
#pragma once

#include "sample.cuh"

namespace hone {

constexpr int kDrawThreads = 64;  // small blocks: a hop of a thousand rows should keep more than four processors busy
constexpr unsigned kWarp = 0xFFFFFFFFu;

// Number `k` of a row's stream where none before it was refused, without those before it.
__device__ inline uint32_t number_of(uint64_t state, uint32_t k) {
  const uint64_t word = mix(state + kGolden * (k / 2 + 1));
  return static_cast<uint32_t>(k % 2 ? word : word >> 32);
}

// Which lanes' draws are taken, a bit for each: Floyd's algorithm (choose.h) by all lanes at once. Draw k of a row
// chooses among the first `others + k + 1` positions, and gets the last of them where what it drew is taken. That is so
// where an earlier draw of its row drew the same, or where it drew an earlier draw's last position and that one got it.
__device__ inline unsigned taken_lanes(uint32_t drawn, uint32_t others, uint32_t lane, uint32_t k) {
  const unsigned earlier = ((1u << lane) - 1) & ~((1u << (lane - k)) - 1);
  const bool again = (__match_any_sync(kWarp, drawn) & earlier) != 0;
  const uint32_t whose = drawn - others;  // the draw whose last position it is, if there is one
  const unsigned its_bit = whose < k ? 1u << (lane - k + whose) : 0;
  unsigned before, taken = __ballot_sync(kWarp, again);
  do {
    before = taken;
    taken = __ballot_sync(kWarp, again || (before & its_bit));
  } while (taken != before);
  return taken;
}

// Draws neighbours. Unless it is the last hop, every neighbour's map entry becomes the first slot that has it.
// A warp has `rows_a_warp` rows: a lane for each finds its list and the state of its stream, and a lane for each draw
// does the rest. The first loads stand behind no branch: a row that the batch does not have looks up the list of node 0.
__global__ void draw(const Progress* progress, Graph graph, Map map, const int32_t* nodes, Hop hop, int rows_a_warp,
                     bool last) {
  const uint32_t lane = threadIdx.x % 32, fanout = hop.fanout;
  const int64_t first = global_thread() / 32 * rows_a_warp, row = first + lane;
  if (first >= hop.max_dst) return;  // all of the warp
  const int32_t given = nodes[row < hop.max_dst ? row : first];
  const bool in_batch = row < rows_of(hop);
  const bool here = in_batch && static_cast<int>(lane) < rows_a_warp;
  const int32_t node = here ? given : 0;
  const int64_t start = graph.indptr[node], end = graph.indptr[node + 1];
  const uint32_t tag = tag_of(map, *progress);

  // A number, while lists are looked up.
  const uint64_t key = hop_key(progress->seed, progress->epoch, progress->batch, hop.index);
  const uint64_t state = mix(key + kGolden * static_cast<uint32_t>(node));
  const uint32_t turn = lane / fanout, k = lane - turn * fanout;
  uint32_t drawn = number_of(__shfl_sync(kWarp, state, turn), k);

  const int32_t degree = here ? static_cast<int32_t>(end - start) : 0;
  const int32_t of_turn = __shfl_sync(kWarp, degree, turn);
  const int32_t its_degree = static_cast<int>(turn) < rows_a_warp ? of_turn : 0, others = its_degree - hop.fanout;
  const uint32_t bound = others + k + 1;
  const uint64_t product = static_cast<uint64_t>(drawn) * bound;
  const bool refused = others > 0 && static_cast<uint32_t>(product) < bound;
  drawn = static_cast<uint32_t>(product >> 32);
  if (__any_sync(kWarp, refused)) {  // rare, and perhaps none is: each draw again, behind those before it
    Stream stream(key, __shfl_sync(kWarp, node, turn));
#pragma unroll 1
    for (uint32_t i = 0; i <= k && others > 0; ++i) drawn = stream.below(others + i + 1);
  }

  const unsigned taken = taken_lanes(drawn, others, lane, k);
  const uint32_t chosen = taken >> lane & 1 ? others + k : drawn;
  const int64_t its_start = __shfl_sync(kWarp, start, turn);
  const bool there = static_cast<int>(k) < its_degree;
  const int32_t neighbour = there ? graph.indices[its_start + (others > 0 ? chosen : k)] : 0;
  if (here) hop.degrees[row] = degree < hop.fanout ? degree : hop.fanout;
  if (!there) return;
  const int64_t slot = first * hop.fanout + lane;
  hop.neighbours[slot] = neighbour;
  if (!last) atomicMin(map.entries + neighbour, tag | static_cast<uint32_t>(hop.first_slot + slot));
}

// A fan-out is 1 to 32.
inline void launch_draw(const Progress* progress, const Graph& graph, const Map& map, const int32_t* nodes,
                        const Hop& hop, bool last, cudaStream_t stream) {
  const int rows_a_warp = 32 / hop.fanout, rows_a_block = rows_a_warp * (kDrawThreads / 32);
  HONE_LAUNCH(draw, blocks_for(hop.max_dst, rows_a_block), kDrawThreads, stream)
  (progress, graph, map, nodes, hop, rows_a_warp, last);
}

}  // namespace hone
