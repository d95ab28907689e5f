// One batch: neighbours for all nodes found so far, hop by hop, local ids, feature rows.
//
// The work is a chain of dependent random reads: node -> offsets -> neighbours -> map entry -> feature row. A core
// waits for each about 100 ns, but can have many under way. So the nodes of a hop go through the steps in blocks, and
// each step asks for the memory that the next one reads a whole block later:
//
//   touch    ask for the offsets of block b + 3
//   choose   read the offsets of block b + 2, choose positions, ask for the neighbours there
//   gather   read the neighbours of block b + 1, ask for their map entries
//   relabel  give local ids to the neighbours of block b; with fused slicing, copy the rows of the new nodes
//
// Positions, neighbours and local ids take turns in the same memory: the hop's `indices`. A kernel that draws (draw.h)
// takes the place of the first two steps, and of the reads of the third.
#pragma once

#include <ctime>

#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "batch.h"
#include "draw.h"
#include "neighbours.h"
#include "random.h"
#include "rows.h"

namespace hone {

// What the design study varies at run time.
struct Tuning {
  int64_t block = 16;     // nodes in a block; 0: one by one, nothing is asked for ahead
  int64_t rows_ahead = 16;  // 0: rows are not asked for ahead
  bool fused = false;     // rows are copied while sampling goes on, not after it
  bool stream = true;     // rows are written past the caches
};

inline double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Map, class Chooser>
class Preparer {
 public:
  Preparer(const Graph& graph, std::vector<int64_t> fanouts, Tuning tuning, DrawKernel kernel)
      : graph_(graph), fanouts_(std::move(fanouts)), tuning_(tuning), block_(std::max<int64_t>(1, tuning.block)),
        draw_(kernel) {
    starts_.resize(kStages * block_);
  }

  // Fills the slot. Throws Error for seeds that are no nodes or not distinct, for a hop of 2^31 edges or more, and when
  // memory runs out; the slot is then not to be used, and the next call starts afresh.
  void prepare(const Request& request, Slot& slot) {
    slot.began_s = steady_s();
    const double cpu = thread_cpu_s();
    copied_ = 0;
    begin(request, slot);
    for (size_t h = 0; h < fanouts_.size(); ++h) {
      expand(hop_key(request.seed, request.epoch, request.batch, h), fanouts_[h], slot, slot.hops[h]);
    }
    slot.sampled_s = steady_s();
    slice(slot, slot.num_nodes);
    finish_streaming();
    slot.ended_s = steady_s();
    slot.cpu_s = thread_cpu_s() - cpu;
  }

 private:
  static constexpr int64_t kStages = 4;
  static constexpr int64_t kBlocksADraw = 64;  // of 16 nodes: enough for a kernel to warm up, few enough for the L2
  static constexpr int64_t kMaxEdges = std::numeric_limits<int32_t>::max();

  void begin(const Request& request, Slot& slot) {
    const int64_t count = request.num_seeds;
    map_.begin(graph_.num_nodes);
    map_.reserve(count);
    slot.nodes.reserve(count, 0);
    slot.num_nodes = slot.num_seeds = count;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t id = request.seeds[i];
      if (id < 0 || id >= graph_.num_nodes) throw Error("seed " + std::to_string(id) + " is not a node of the graph");
      slot.nodes[i] = static_cast<int32_t>(id);
      if (map_.local(slot.nodes[i], static_cast<int32_t>(i)) != i) {
        throw Error("node " + std::to_string(id) + " is twice among the seeds of a batch");
      }
    }
    if (graph_.labels == nullptr) return;
    slot.labels.reserve(count, 0);
    for (int64_t i = 0; i < count; ++i) slot.labels[i] = graph_.labels[slot.nodes[i]];
  }

  void expand(uint64_t key, int64_t fanout, Slot& slot, Hop& hop) {
    hop.num_dst = slot.num_nodes;
    hop.num_edges = 0;
    hop.indptr.reserve(hop.num_dst + 1, 0);
    hop.indptr[0] = 0;
    const int64_t blocks = (hop.num_dst + block_ - 1) / block_;
    if (draw_.takes(fanout)) {
      for (int64_t b = 0; b < blocks + 1; ++b) {
        take_drawn(b, key, fanout, slot, hop);
        relabel(b - 1, slot, hop);
      }
    } else {
      for (int64_t b = 0; b < blocks + kStages - 1; ++b) {
        if (tuning_.block > 0) touch(b, slot, hop);
        choose(b - 1, key, fanout, slot, hop);
        gather(b - 2, hop);
        relabel(b - 3, slot, hop);
      }
    }
    hop.num_src = slot.num_nodes;
  }

  struct Range {
    int64_t begin, end;
  };
  // Destinations of a block; none for blocks before the first and after the last.
  Range block_of(int64_t b, const Hop& hop) const {
    if (b < 0) return {0, 0};
    return {std::min(b * block_, hop.num_dst), std::min((b + 1) * block_, hop.num_dst)};
  }

  void touch(int64_t b, Slot& slot, const Hop& hop) const {
    const Range block = block_of(b, hop);
    for (int64_t i = block.begin; i < block.end; ++i) ask_for_offsets(graph_.indptr, slot.nodes[i]);
  }

  void choose(int64_t b, uint64_t key, int64_t fanout, Slot& slot, Hop& hop) {
    const Range block = block_of(b, hop);
    if (block.begin == block.end) return;
    int64_t* starts = starts_.data() + (b % kStages) * block_;
    for (int64_t i = block.begin; i < block.end; ++i) {
      const int32_t node = slot.nodes[i];
      const int64_t start = graph_.indptr[node];
      const int64_t degree = graph_.indptr[node + 1] - start;
      const int64_t count = fanout < 0 ? degree : std::min(fanout, degree);
      hop.indices.reserve(within_limit(hop.num_edges + count), hop.num_edges);
      int32_t* positions = hop.indices.data() + hop.num_edges;
      choose_positions(chooser_, key, node, degree, count, positions);
      if (tuning_.block > 0) ask_for_neighbours(graph_.indices + start, positions, count, count == degree);
      starts[i - block.begin] = start;
      hop.num_edges += count;
      hop.indptr[i + 1] = static_cast<int32_t>(hop.num_edges);
    }
  }

  void gather(int64_t b, Hop& hop) {
    const Range block = block_of(b, hop);
    if (block.begin == block.end) return;
    map_.reserve(hop.indptr[block.end] - hop.indptr[block.begin] + pending(b, hop));
    const int64_t* starts = starts_.data() + (b % kStages) * block_;
    for (int64_t i = block.begin; i < block.end; ++i) {
      take_neighbours(graph_.indices + starts[i - block.begin], hop.indptr[i + 1] - hop.indptr[i],
                      hop.indices.data() + hop.indptr[i], [this](int32_t id) {
                        if (tuning_.block > 0) map_.prefetch(id);
                      });
    }
  }

  // In the place of `gather`: what the kernel drew, which is asked for many blocks at a time.
  void take_drawn(int64_t b, uint64_t key, int64_t fanout, Slot& slot, Hop& hop) {
    const Range block = block_of(b, hop);
    if (block.begin == block.end) return;
    const int64_t first = b / kBlocksADraw * kBlocksADraw * block_;
    if (block.begin == first) {
      const int64_t count = std::min(kBlocksADraw * block_, hop.num_dst - first);
      draw_.run(graph_, slot.nodes.data() + first, count, fanout, key);
    }
    for (int64_t i = block.begin; i < block.end; ++i) {
      hop.num_edges = within_limit(hop.num_edges + draw_.degree(i - first));
      hop.indptr[i + 1] = static_cast<int32_t>(hop.num_edges);
    }
    const int64_t begin = hop.indptr[block.begin];
    map_.reserve(hop.num_edges - begin + pending(b, hop));
    hop.indices.reserve(hop.num_edges, begin);
    int32_t* to = hop.indices.data() + begin;
    for (int64_t i = block.begin; i < block.end; ++i) {
      const int32_t* drawn = draw_.neighbours(i - first);
      for (int64_t j = 0; j < draw_.degree(i - first); ++j) {
        *to++ = drawn[j];
        if (tuning_.block > 0) map_.prefetch(drawn[j]);
      }
    }
  }

  static int64_t within_limit(int64_t edges) {
    if (edges > kMaxEdges) throw Error("a hop has 2^31 edges or more; use smaller batches");
    return edges;
  }

  // Neighbours of the block before, which have no local ids yet when this block is gathered.
  int64_t pending(int64_t b, const Hop& hop) const {
    const Range block = block_of(b - 1, hop);
    return hop.indptr.data()[block.end] - hop.indptr.data()[block.begin];
  }

  void relabel(int64_t b, Slot& slot, Hop& hop) {
    const Range block = block_of(b, hop);
    if (block.begin == block.end) return;
    const int64_t begin = hop.indptr[block.begin], end = hop.indptr[block.end];
    slot.nodes.reserve(slot.num_nodes + end - begin, slot.num_nodes);
    int32_t* nodes = slot.nodes.data();
    int32_t* ids = hop.indices.data();
    int32_t fresh = static_cast<int32_t>(slot.num_nodes);
    for (int64_t e = begin; e < end; ++e) {
      const int32_t id = ids[e];
      const int32_t local = map_.local(id, fresh);
      nodes[fresh] = id;  // overwritten by the next one where the id is not new
      fresh += local == fresh;
      ids[e] = local;
    }
    slot.num_nodes = fresh;
    if (tuning_.fused) slice(slot, std::max(copied_, slot.num_nodes - tuning_.rows_ahead));
  }

  // Copies the rows up to `end`, none twice.
  void slice(Slot& slot, int64_t end) {
    if (graph_.rows == nullptr) return;
    const RowPlan plan{graph_.rows, graph_.row_bytes, tuning_.rows_ahead, tuning_.stream};
    slot.features.reserve(slot.num_nodes * graph_.row_bytes, copied_ * graph_.row_bytes);
    copy_rows(plan, slot.nodes.data(), copied_, end, slot.num_nodes, slot.features.data());
    copied_ = end;
  }

  const Graph graph_;
  const std::vector<int64_t> fanouts_;
  const Tuning tuning_;
  const int64_t block_;
  Map map_;
  Chooser chooser_;
  Draw draw_;
  std::vector<int64_t> starts_;  // where the neighbour lists of the blocks under way begin
  int64_t copied_ = 0;           // rows of the batch that are in the slot
};

}  // namespace hone
