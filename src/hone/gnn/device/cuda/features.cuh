// The first layer's input, for which the device system reads more memory than for all else.
#pragma once

#include "common.cuh"
#include "sample.cuh"

namespace hone {

constexpr int kFeatureThreads = 128;

// `cell_of`, which waits for no division where `lanes` is a power of two, as it mostly is.
__device__ inline Cell feature_cell(int lanes) {
  const uint32_t thread = static_cast<uint32_t>(global_thread()), most = static_cast<uint32_t>(lanes) - 1;
  if (most & (most + 1)) return cell_of(lanes);
  return {thread >> __popc(most), static_cast<int>(thread & most) * 8};
}

// `values`, or zeros: a choice without a branch, which the compiler would move their load behind.
__device__ inline Eight only_if(bool there, Eight values) {
#pragma unroll
  for (int i = 0; i < 4; ++i) values.words[i] = there ? values.words[i] : 0;
  return values;
}

// [mean of the neighbours' features | own features] in bfloat16, zeros for rows up to `max_dst` that the batch does not
// have. Neighbours are global ids: no node of the last hop needs a local one, and no matrix of features is made.
// `width` is a multiple of 8; `width / 8` threads for each row. `Table` is whatever has a `load`: one matrix, or
// several (spread.cuh).
// What takes time is waiting for memory. So ids are loaded before it is known which of them are there, then the rows of
// kBatch neighbours at a time, the row's own in the place of those that are not, then these are added up in order. So
// few blocks share a processor that the compiler has registers for kBatch rows, and puts none of them behind a sum.
template <class T, int kBatch, class Table>
__global__ void __launch_bounds__(kFeatureThreads, kBatch <= 5 ? 8 : 6)
    mean_of_features(Hop hop, const int32_t* nodes, Table features, int width, void* out) {
  const auto [row, column] = feature_cell(width / 8);
  if (row >= hop.max_dst) return;
  const int32_t* list = hop.neighbours + row * hop.fanout;
  int32_t ids[kBatch];
#pragma unroll
  for (int i = 0; i < kBatch; ++i) ids[i] = i < hop.fanout ? list[i] : 0;
  const int32_t node = nodes[row];
  const int32_t degree = hop.degrees[row];
  const bool here = row < rows_of(hop);
  const int32_t count = here ? degree : 0, own = here ? node : 0;
  const Eight mine = load(features, own, width, column);
  float mean[8] = {}, same[8] = {};
  for (int k = 0;;) {
    Eight values[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) values[i] = load(features, k + i < count ? ids[i] : own, width, column);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) add<T>(mean, only_if(k + i < count, values[i]), 1.0f);
    k += kBatch;
    if (k >= count) break;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) ids[i] = k + i < hop.fanout ? list[k + i] : 0;
  }
  scale_by(1.0f / static_cast<float>(count > 1 ? count : 1), mean);
  add<T>(same, only_if(here, mine), 1.0f);
  store(out, row, 2 * width, column, narrowed(mean));
  store(out, row, 2 * width, width + column, narrowed(same));
}

template <class T, class Table>
void launch_mean_of(const Hop& hop, const int32_t* nodes, const Table& features, int64_t width, void* out,
                    cudaStream_t stream) {
  const int64_t work = hop.max_dst * (width / 8);
  const int threads = work < 264 * kFeatureThreads ? kFeatureThreads / 2 : kFeatureThreads;  // on all processors
  const auto kernel = hop.fanout <= 5 ? mean_of_features<T, 5, Table> : mean_of_features<T, 10, Table>;
  HONE_LAUNCH(kernel, blocks_for(work, threads), threads, stream)
  (hop, nodes, features, static_cast<int>(width), out);
}

}  // namespace hone
