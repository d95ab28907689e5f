// Which neighbours a node draws: the inner loop of the sampler. The steps of one node are here, which the sampler takes
// between its other steps (prepare.h), and the loop by itself, over the rows of a hop, as other kernels can replace it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "choose.h"
#include "prefetch.h"
#include "random.h"

namespace hone {

inline void ask_for_offsets(const int64_t* indptr, int32_t node) {
  ask_for(indptr + node);
  ask_for(indptr + node + 1);  // at times on the next line
}

// Positions in the node's list: all, in order, where `count` is its degree; else drawn by the hop's key and the node.
template <class Chooser>
inline void choose_positions(Chooser& chooser, uint64_t key, int32_t node, int64_t degree, int64_t count,
                             int32_t* positions) {
  if (count == degree) {
    for (int64_t j = 0; j < count; ++j) positions[j] = static_cast<int32_t>(j);
  } else {
    Stream stream(key, node);
    chooser(stream, static_cast<int32_t>(degree), static_cast<int32_t>(count), positions);
  }
}

inline void ask_for_neighbours(const int32_t* list, const int32_t* positions, int64_t count, bool whole) {
  constexpr int64_t kIdsPerLine = 16;
  // A list that is read from end to end: one request a line; what is long, the processor asks for by itself.
  const int64_t step = whole ? kIdsPerLine : 1;
  const int64_t end = whole ? std::min<int64_t>(count, 8 * kIdsPerLine) : count;
  for (int64_t j = 0; j < end; j += step) ask_for(list + positions[j]);
}

// Puts the neighbours in the place of their positions.
template <class Each>
inline void take_neighbours(const int32_t* list, int64_t count, int32_t* positions, Each each) {
  for (int64_t j = 0; j < count; ++j) {
    const int32_t id = list[positions[j]];
    positions[j] = id;
    each(id);
  }
}

// `count` rows, which are nodes: row i draws degrees[i] = min(degree, fanout) neighbours, as global ids in
// neighbours[i * fanout] and on; -1 stands in the places that are left. In blocks, each step asking for the memory that
// the next one reads a block later.
template <class Chooser>
void sample_neighbours(const int64_t* indptr, const int32_t* indices, const int32_t* rows, int64_t count,
                       int64_t fanout, uint64_t key, int32_t* neighbours, int32_t* degrees) {
  constexpr int64_t kBlock = 16, kStages = 3;
  int64_t starts[2][kBlock];
  Chooser chooser;
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  for (int64_t b = 0; b < blocks + kStages - 1; ++b) {
    for (int64_t i = b * kBlock; i < std::min((b + 1) * kBlock, count); ++i) ask_for_offsets(indptr, rows[i]);
    for (int64_t i = std::max<int64_t>(b - 1, 0) * kBlock; i < std::min(b * kBlock, count); ++i) {
      const int64_t start = indptr[rows[i]], degree = indptr[rows[i] + 1] - start;
      const int64_t drawn = std::min(fanout, degree);
      choose_positions(chooser, key, rows[i], degree, drawn, neighbours + i * fanout);
      ask_for_neighbours(indices + start, neighbours + i * fanout, drawn, drawn == degree);
      starts[(b - 1) % 2][i % kBlock] = start;
      degrees[i] = static_cast<int32_t>(drawn);
    }
    for (int64_t i = std::max<int64_t>(b - 2, 0) * kBlock; i < std::min((b - 1) * kBlock, count); ++i) {
      int32_t* row = neighbours + i * fanout;
      take_neighbours(indices + starts[b % 2][i % kBlock], degrees[i], row, [](int32_t) {});
      std::fill(row + degrees[i], row + fanout, -1);
    }
  }
}

}  // namespace hone
