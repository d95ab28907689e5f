// What a batch is made from and where it is put.
#pragma once

#include <cstdint>
#include <vector>

#include "memory.h"

namespace hone {

// A graph as compressed rows with 64-bit offsets and 32-bit ids, its feature rows and labels. Borrowed, never changed.
struct Graph {
  const int64_t* indptr = nullptr;   // num_nodes + 1
  const int32_t* indices = nullptr;  // num_edges
  int64_t num_nodes = 0;
  int64_t num_edges = 0;
  const unsigned char* rows = nullptr;  // num_nodes * row_bytes; absent: batches have no features
  int64_t row_bytes = 0;
  const int64_t* labels = nullptr;  // num_nodes; absent: batches have no labels
};

// What is asked for.
struct Request {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t batch = 0;
  const int64_t* seeds = nullptr;
  int64_t num_seeds = 0;
};

struct Hop {
  explicit Hop(PinHook pin) : indptr(pin), indices(pin) {}
  Array<int32_t> indptr;   // num_dst + 1
  Array<int32_t> indices;  // num_edges, each below num_src
  int64_t num_dst = 0;
  int64_t num_src = 0;
  int64_t num_edges = 0;
};

// One prepared batch; its memory serves for many.
struct Slot {
  Slot(int hops, PinHook pin) : nodes(pin), features(pin), labels(pin) {
    for (int i = 0; i < hops; ++i) this->hops.emplace_back(pin);
  }
  Array<int32_t> nodes;  // num_nodes global ids, the seeds first
  Array<unsigned char> features;
  Array<int64_t> labels;
  std::vector<Hop> hops;  // the seeds' own neighbours first
  int64_t num_nodes = 0;
  int64_t num_seeds = 0;
  double began_s = 0;  // by the steady clock
  double sampled_s = 0;
  double ended_s = 0;
  double cpu_s = 0;  // processor time that the preparation took
};

}  // namespace hone
