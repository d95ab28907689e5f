// Launches of the training loop's kernels, by the loop itself and as functions of plain pointers and sizes: what
// config/kernels/graph_ops defines and other kernels can replace. `filled` holds the rows and the sources that a batch
// has, of those that there is room for: it lies in device memory, because it changes from batch to batch while a
// captured graph stays as it is.
#pragma once

#include "draw.cuh"
#include "features.cuh"
#include "gradient_of_states.cuh"
#include "mean_of_states.cuh"

namespace hone {

// A hop by itself: `filled` has the rows that there are, and the sources, where a batch has its sizes.
inline Hop plain_hop(const int32_t* neighbours, const int32_t* degrees, const int32_t* filled, int64_t rows,
                     int64_t sources, int64_t fanout) {
  Hop hop = {};
  hop.fanout = static_cast<int32_t>(fanout);
  hop.max_dst = static_cast<int32_t>(rows);
  hop.max_src = static_cast<int32_t>(sources);
  hop.neighbours = const_cast<int32_t*>(neighbours);  // where an argument is const, kernels only read
  hop.degrees = const_cast<int32_t*>(degrees);
  hop.sizes = const_cast<int32_t*>(filled);
  return hop;
}

inline Dropout plain_dropout(const int64_t* key, double scale, int64_t threshold) {
  return {reinterpret_cast<const uint64_t*>(key), static_cast<float>(scale), static_cast<uint32_t>(threshold)};
}

// The draw of hop `index` without the map, as the last hop has it; `progress` is the loop's, eight words.
inline void launch_draw_neighbours(const int64_t* indptr, const int32_t* indices, const int32_t* nodes,
                                   const int32_t* filled, const int64_t* progress, int32_t* neighbours,
                                   int32_t* degrees, int64_t index, int64_t rows, int64_t fanout, cudaStream_t stream) {
  Hop hop = plain_hop(neighbours, degrees, filled, rows, 0, fanout);
  hop.index = static_cast<int32_t>(index);
  hop.sizes -= index;  // so that sizes[index] is filled[0]
  launch_draw(reinterpret_cast<const Progress*>(progress), {indptr, indices}, {nullptr, 1}, nodes, hop, true, stream);
}

// What a hop of a batch has of its draw: every neighbour's entry becomes the first slot that has it. The rows are the
// first `max_dst` slots, with themselves as local ids. Clears as many words as there are threads for, at most.
__global__ void meet_nodes(Map map, Hop hop, int32_t* locals, int32_t* cleared, int64_t words) {
  const uint32_t slot = global_slot(), fanout = hop.fanout, row = slot / fanout;
  if (slot < words) cleared[slot] = 0;
  if (slot < static_cast<uint32_t>(hop.max_dst)) locals[slot] = static_cast<int32_t>(slot);
  if (row >= static_cast<uint32_t>(rows_of(hop)) || static_cast<int32_t>(slot % fanout) >= hop.degrees[row]) return;
  atomicMin(map.entries + hop.neighbours[slot], hop.first_slot + slot);
}

// Local ids of one hop, without the lists of readers. `entries` are those of a map without tags: a row's own number for
// each row's node, all bits set for others.
inline void launch_number_nodes(int32_t* neighbours, const int32_t* degrees, int32_t* nodes, int32_t* filled,
                                int32_t* entries, int32_t* counts, int64_t rows, int64_t sources, int64_t fanout,
                                cudaStream_t stream) {
  Hop hop = plain_hop(neighbours, degrees, filled, rows, sources, fanout);
  hop.first_slot = hop.max_dst;
  const Map map = {reinterpret_cast<uint32_t*>(entries), 31};  // a progress of zeros has no tag then
  const int64_t slots = rows * fanout, blocks = blocks_for(slots, kThreads), words_of_progress = sizeof(Progress) / 4;
  const int64_t cleared = 2 * blocks + words_of_progress + 1;
  int32_t* memory = nullptr;
  if (cudaMallocAsync(&memory, 4 * (cleared + rows + 2 * slots), stream) != cudaSuccess) return;
  auto* published = reinterpret_cast<uint64_t*>(memory);
  auto* progress = reinterpret_cast<Progress*>(memory + 2 * blocks);
  int32_t* overflow = memory + cleared - 1;
  int32_t *locals = memory + cleared, *ranks = locals + rows + slots;
  HONE_LAUNCH(meet_nodes, blocks, kThreads, stream)(map, hop, locals, memory, cleared);
  HONE_LAUNCH(number_nodes, blocks, kThreads, stream)
  (progress, map, hop, nodes, locals, counts, published, overflow);
  HONE_LAUNCH(relabel, blocks, kThreads, stream)(map, hop, locals, counts, ranks);
  cudaFreeAsync(memory, stream);
}

template <class T>
void launch_mean_of_features(const Hop& hop, const int32_t* nodes, const T* features, int64_t width, void* out,
                             cudaStream_t stream) {
  launch_mean_of<T, const void*>(hop, nodes, features, width, out, stream);
}

// With `notes`: what passes of each state, for `launch_gradient_of_states`.
inline void launch_mean_of_states(const Hop& hop, const void* states, int64_t width, const Dropout& dropout, void* out,
                                  cudaStream_t stream, uint8_t* notes = nullptr) {
  const int64_t pieces = width / 8, threads = hop.max_dst * pieces;
  int parts_log = 0;  // where there are few rows, several teams share one
  while ((threads << (parts_log + 1)) <= resident_threads() && parts_log < kMostPartsLog &&
         (pieces << (parts_log + 1)) <= kMeanThreads && (2 << parts_log) <= hop.fanout) {
    ++parts_log;
  }
  const Teams teams(pieces, kMeanThreads, 1 << parts_log);
  const auto plain = kernel_for(dropout, mean_of_states<Drops::kNone, false>, mean_of_states<Drops::kHalf, false>,
                                mean_of_states<Drops::kAny, false>);
  const auto noting = kernel_for(dropout, mean_of_states<Drops::kNone, false>, mean_of_states<Drops::kHalf, true>,
                                 mean_of_states<Drops::kAny, true>);
  const auto kernel = notes ? noting : plain;
  const dim3 blocks(blocks_for(hop.max_dst, teams.count >> parts_log), teams.segments);
  HONE_LAUNCH(kernel, blocks, kMeanThreads, stream)
  (hop, states, static_cast<int>(width), dropout, teams, parts_log, notes, out);
}

template <int kGroups>
void launch_gradient_by_groups(const Hop& hop, const int32_t* offsets, const int32_t* readers, const void* out_gradient,
                               const void* states, int64_t width, const Dropout& dropout, void* gradient,
                               cudaStream_t stream, const uint8_t* notes) {
  const int64_t pieces = width / (8 * kGroups);
  const int run_log = (pieces << kRunLog) <= kThreads ? kRunLog : 0;
  const Teams teams(pieces, kThreads, 1 << run_log);
  const auto plain = kernel_for(dropout, gradient_of_states<kGroups, Drops::kNone>,
                                gradient_of_states<kGroups, Drops::kHalf>, gradient_of_states<kGroups, Drops::kAny>);
  const auto noted = kernel_for(dropout, gradient_of_states<kGroups, Drops::kNone>,
                                gradient_of_states<kGroups, Drops::kNoted>, gradient_of_states<kGroups, Drops::kNoted>);
  const auto kernel = notes ? noted : plain;
  const dim3 blocks(blocks_for(hop.max_src, teams.count), teams.segments);
  HONE_LAUNCH(kernel, blocks, kThreads, stream)
  (hop, offsets, readers, out_gradient, states, notes, static_cast<int>(width), dropout, teams, run_log,
   Divisor(static_cast<uint32_t>(hop.fanout)), gradient);
}

inline void launch_gradient_of_states(const Hop& hop, const int32_t* offsets, const int32_t* readers,
                                      const void* out_gradient, const void* states, int64_t width,
                                      const Dropout& dropout, void* gradient, cudaStream_t stream,
                                      const uint8_t* notes = nullptr) {
  const bool pairs = width % 16 == 0 && hop.max_src * (width / 16) > resident_threads() / 2;
  // Without states to read there are registers for more of what is under way.
  const bool fours = notes != nullptr && width % 32 == 0 && hop.max_src * (width / 32) > resident_threads();
  const auto launch = fours   ? launch_gradient_by_groups<4>
                      : pairs ? launch_gradient_by_groups<2>
                              : launch_gradient_by_groups<1>;
  launch(hop, offsets, readers, out_gradient, states, width, dropout, gradient, stream, notes);
}

// Rows of 16-bit numbers, `width` a multiple of 8: 16 bytes for each thread.
__global__ void gather_rows(const void* table, const int32_t* nodes, int64_t rows, int width, void* out) {
  const int lanes = width / 8;
  const int64_t row = global_thread() / lanes;
  const int column = static_cast<int>(global_thread() % lanes) * 8;
  if (row < rows) store(out, row, width, column, load(table, nodes[row], width, column));
}

inline void launch_gather_rows(const void* table, const int32_t* nodes, int64_t rows, int64_t width, void* out,
                               cudaStream_t stream) {
  HONE_LAUNCH(gather_rows, blocks_for(rows * (width / 8), kThreads), kThreads, stream)
  (table, nodes, rows, static_cast<int>(width), out);
}

}  // namespace hone
