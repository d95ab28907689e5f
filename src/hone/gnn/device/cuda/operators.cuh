// Launches of the training loop's kernels, by the loop itself and as functions of plain pointers and sizes: what
// config/kernels/graph_ops defines and other kernels can replace. `filled` holds the rows and the sources that a batch has, of those that there is room for:
// it lies in device memory, because it changes from batch to batch while a captured graph stays as it is.
#pragma once

#include "aggregate.cuh"

namespace hone {

inline Hop plain_hop(const int32_t* neighbours, const int32_t* degrees, const int32_t* filled, int64_t rows,
                     int64_t sources, int64_t fanout) {
  Hop hop = {};
  hop.fanout = static_cast<int32_t>(fanout);
  hop.max_dst = static_cast<int32_t>(rows);
  hop.max_src = static_cast<int32_t>(sources);
  hop.neighbours = const_cast<int32_t*>(neighbours);  // the kernels below only read
  hop.degrees = const_cast<int32_t*>(degrees);
  hop.sizes = const_cast<int32_t*>(filled);
  return hop;
}

inline Dropout plain_dropout(const int64_t* key, double scale, int64_t threshold) {
  return {reinterpret_cast<const uint64_t*>(key), static_cast<float>(scale), static_cast<uint32_t>(threshold)};
}

template <class T>
void launch_mean_of_features(const Hop& hop, const int32_t* nodes, const T* features, int64_t width, void* out,
                             cudaStream_t stream) {
  const unsigned blocks = blocks_for(static_cast<int64_t>(hop.max_dst) * (width / 8), kThreads);
  const auto kernel = mean_of_features<T>;
  HONE_LAUNCH(kernel, blocks, kThreads, stream)(hop, nodes, features, static_cast<int>(width), out);
}

inline void launch_mean_of_states(const Hop& hop, const void* states, int64_t width, const Dropout& dropout, void* out,
                                  cudaStream_t stream) {
  const unsigned blocks = blocks_for(static_cast<int64_t>(hop.max_dst) * (width / 8), kThreads);
  HONE_LAUNCH(mean_of_states, blocks, kThreads, stream)(hop, states, static_cast<int>(width), dropout, out);
}

inline void launch_gradient_of_states(const Hop& hop, const int32_t* offsets, const int32_t* readers,
                                      const void* out_gradient, const void* states, int64_t width,
                                      const Dropout& dropout, void* gradient, cudaStream_t stream) {
  const bool pairs = width % 16 == 0;
  const auto kernel = pairs ? gradient_of_states<2> : gradient_of_states<1>;
  const unsigned blocks = blocks_for(static_cast<int64_t>(hop.max_src) * (width / (pairs ? 16 : 8)), kThreads);
  HONE_LAUNCH(kernel, blocks, kThreads, stream)
  (hop, offsets, readers, out_gradient, states, static_cast<int>(width), dropout, gradient);
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
