// Features in several places: the memories of several GPUs, or a GPU's and the host's, which the GPU reads by itself.
#pragma once

#include "features.cuh"

namespace hone {

// Rows in several matrices of one width. A node's place is row << bits | base.
struct SpreadRows {
  const void* const* bases;  // in the GPU's memory: an array in a kernel's arguments would be copied to its stack
  const uint32_t* places;    // one for each node
  uint32_t bits;
};

// For the kernels that read features: what `load` is for rows of one matrix.
__device__ inline Eight load(const SpreadRows& table, int64_t node, int width, int column) {
  const uint32_t place = table.places[node];
  return load(table.bases[place & ((1u << table.bits) - 1)], place >> table.bits, width, column);
}

template <class T>
void launch_mean_of_spread_features(const Hop& hop, const int32_t* nodes, const SpreadRows& features, int width,
                                    void* out, cudaStream_t stream) {
  launch_mean_of<T>(hop, nodes, features, width, out, stream);
}

}  // namespace hone
