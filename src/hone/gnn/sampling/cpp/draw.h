// Another kernel in the place of `sample_neighbours` (neighbours.h): a function of the same meaning, given at run time.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include <cstdint>
#include <vector>

#include "batch.h"

namespace hone {

// The launcher of the definition `sample_neighbours` (config/kernels/graph_ops). `key` is the hop's; `offsets` is the
// number of nodes and one.
using DrawKernel = void (*)(const int64_t* indptr, const int32_t* indices, const int32_t* rows, int64_t key,
                            int32_t* neighbours, int32_t* degrees, int64_t offsets, int64_t edges, int64_t count,
                            int64_t fanout);

// Kernels may use OpenMP's threads; here each worker is one, and a forked process must not start any.
class OneThread {
 public:
#ifdef _OPENMP
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  const int before_;
#else
  OneThread() {}
#endif
};

// What the kernel drew for some rows of a hop, until it draws for others.
class Draw {
 public:
  static constexpr int64_t kMaxFanout = 1024;  // the memory for the rows of one call has to be small

  explicit Draw(DrawKernel kernel) : kernel_(kernel) {}

  bool takes(int64_t fanout) const { return kernel_ != nullptr && 0 < fanout && fanout <= kMaxFanout; }

  void run(const Graph& graph, const int32_t* rows, int64_t count, int64_t fanout, uint64_t key) {
    neighbours_.resize(count * fanout);
    degrees_.resize(count);
    fanout_ = fanout;
    const OneThread alone;
    kernel_(graph.indptr, graph.indices, rows, static_cast<int64_t>(key), neighbours_.data(), degrees_.data(),
            graph.num_nodes + 1, graph.num_edges, count, fanout);
  }

  // Of the i-th row.
  int64_t degree(int64_t i) const { return degrees_[i]; }
  const int32_t* neighbours(int64_t i) const { return neighbours_.data() + i * fanout_; }

 private:
  DrawKernel kernel_;
  int64_t fanout_ = 0;
  std::vector<int32_t> neighbours_, degrees_;
};

}  // namespace hone
