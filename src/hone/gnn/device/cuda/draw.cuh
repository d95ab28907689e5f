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
// A warp has kPasses * rows_a_pass rows, 32 at most: a lane for each finds its list and the state of its stream, and in
// every pass there is a lane for each draw of `rows_a_pass` rows. The first loads stand behind no branch: a row that
// the batch does not have looks up the list of node 0.
template <int kPasses>
__global__ void draw(const Progress* progress, Graph graph, Map map, const int32_t* nodes, Hop hop, int rows_a_pass,
                     bool last) {
  const uint32_t lane = threadIdx.x % 32, fanout = hop.fanout;
  const int64_t first = global_thread() / 32 * (kPasses * rows_a_pass), row = first + lane;
  if (first >= hop.max_dst) return;  // all of the warp
  const int32_t given = nodes[row < hop.max_dst ? row : first];
  const bool in_batch = row < rows_of(hop);
  const bool here = in_batch && static_cast<int>(lane) < kPasses * rows_a_pass;
  const int32_t node = here ? given : 0;
  const int64_t start = graph.indptr[node], end = graph.indptr[node + 1];
  const uint32_t tag = tag_of(map, *progress);

  // All numbers, while lists are looked up.
  const uint64_t key = hop_key(progress->seed, progress->epoch, progress->batch, hop.index);
  const uint64_t state = mix(key + kGolden * static_cast<uint32_t>(node));
  const uint32_t turn = lane / fanout, k = lane - turn * fanout;
  uint32_t drawn[kPasses];
#pragma unroll
  for (int p = 0; p < kPasses; ++p) drawn[p] = number_of(__shfl_sync(kWarp, state, p * rows_a_pass + turn), k);

  const int32_t degree = here ? static_cast<int32_t>(end - start) : 0;
  int32_t degrees[kPasses], others[kPasses];
  bool refused = false;
#pragma unroll
  for (int p = 0; p < kPasses; ++p) {
    const int32_t its_degree = __shfl_sync(kWarp, degree, p * rows_a_pass + turn);
    degrees[p] = static_cast<int>(turn) < rows_a_pass ? its_degree : 0;
    others[p] = degrees[p] - hop.fanout;
    const uint32_t bound = others[p] + k + 1;
    const uint64_t product = static_cast<uint64_t>(drawn[p]) * bound;
    refused |= others[p] > 0 && static_cast<uint32_t>(product) < bound;
    drawn[p] = static_cast<uint32_t>(product >> 32);
  }
  if (__any_sync(kWarp, refused)) {  // rare, and perhaps none is: each draw again, behind those before it
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      Stream stream(key, __shfl_sync(kWarp, node, p * rows_a_pass + turn));
#pragma unroll 1
      for (uint32_t i = 0; i <= k && others[p] > 0; ++i) drawn[p] = stream.below(others[p] + i + 1);
    }
  }

  int32_t found[kPasses];  // all loads first: a store between two of them would have the second wait for the first
#pragma unroll
  for (int p = 0; p < kPasses; ++p) {
    const unsigned taken = taken_lanes(drawn[p], others[p], lane, k);
    const uint32_t chosen = taken >> lane & 1 ? others[p] + k : drawn[p];
    const int64_t its_start = __shfl_sync(kWarp, start, p * rows_a_pass + turn);
    found[p] = static_cast<int>(k) < degrees[p] ? graph.indices[its_start + (others[p] > 0 ? chosen : k)] : 0;
  }
  if (here) hop.degrees[row] = degree < hop.fanout ? degree : hop.fanout;
#pragma unroll
  for (int p = 0; p < kPasses; ++p) {
    if (static_cast<int>(k) >= degrees[p]) continue;
    const int64_t slot = (first + p * rows_a_pass) * hop.fanout + lane;
    hop.neighbours[slot] = found[p];
    if (!last) atomicMin(map.entries + found[p], tag | static_cast<uint32_t>(hop.first_slot + slot));
  }
}

// Several passes where there are so many rows that the hop's key, which each warp makes, is what takes time.
// A fan-out is 1 to 32.
inline void launch_draw(const Progress* progress, const Graph& graph, const Map& map, const int32_t* nodes,
                        const Hop& hop, bool last, cudaStream_t stream) {
  constexpr int kMany = 4, kManyPasses = 5000;
  const int rows_a_pass = 32 / hop.fanout;
  const bool many = kMany * rows_a_pass <= 32 && hop.max_dst / rows_a_pass > kManyPasses;
  const auto kernel = many ? draw<kMany> : draw<1>;
  const int rows_a_block = (many ? kMany : 1) * rows_a_pass * (kDrawThreads / 32);
  HONE_LAUNCH(kernel, blocks_for(hop.max_dst, rows_a_block), kDrawThreads, stream)
  (progress, graph, map, nodes, hop, rows_a_pass, last);
}

}  // namespace hone
