// The sampler as functions with C linkage, for ctypes; hone.gnn.sampling.native mirrors the structures.
//
// No function throws. Those that can fail return nullptr or a code other than 0, and write the reason into `message`,
// which has room for 256 bytes.
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kinds.h"
#include "ring.cpp"

using namespace hone;

extern "C" {

struct HoneConfig {
  Graph graph;
  const int64_t* fanouts;
  int64_t num_fanouts;
  int64_t threads;
  int64_t slots;
  int64_t map;
  int64_t chooser;
  int64_t block;
  int64_t rows_ahead;
  int64_t fused;
  int64_t stream;
  PinHook pin;
  DrawKernel draw;  // absent: the sampler's own
};

struct HoneArray {
  const void* address;
  int64_t bytes;  // that are mapped there
};

struct HoneHop {
  HoneArray indptr, indices;
  int64_t num_dst, num_src, num_edges;
};

// The values are valid until the slot's release; the memory stays mapped until the sampler is closed.
struct HoneBatch {
  int64_t batch, slot, worker;
  int64_t num_nodes, num_seeds;
  HoneArray nodes, features, labels;
  HoneHop hops[8];
  double began_s, sampled_s, ended_s, cpu_s;
};
}

namespace {

constexpr int64_t kMaxHops = sizeof(HoneBatch::hops) / sizeof(HoneHop);

struct Handle {
  Prepare prepare;
  std::unique_ptr<Slot> own;  // of `hone_sampler_sample`
  std::unique_ptr<Ring> ring;
};

int said(char* message, const std::string& what, int code) {
  std::snprintf(message, 256, "%s", what.c_str());
  return code;
}

// Offsets must rise, from 0 to the number of edges, and no list may have 2^31 entries: positions in it are 32 bits.
void check(const Graph& graph) {
  if (graph.num_nodes < 0 || graph.num_nodes >= std::numeric_limits<int32_t>::max()) {
    throw Error("the graph has 2^31 - 1 nodes or more: ids are 32 bits wide");
  }
  if (graph.indptr[0] != 0 || graph.indptr[graph.num_nodes] != graph.num_edges) {
    throw Error("the offsets do not run from 0 to the number of edges");
  }
  bool good = true;
  for (int64_t i = 0; i < graph.num_nodes; ++i) {
    const int64_t degree = graph.indptr[i + 1] - graph.indptr[i];
    good &= degree >= 0 && degree < std::numeric_limits<int32_t>::max();
  }
  if (!good) throw Error("the offsets fall somewhere, or a node has 2^31 - 1 neighbours or more");
}

template <class T>
HoneArray whole(const Array<T>& array) {
  return {array.data(), array.capacity() * static_cast<int64_t>(sizeof(T))};
}

void describe(const Slot& slot, HoneBatch* out) {
  out->num_nodes = slot.num_nodes;
  out->num_seeds = slot.num_seeds;
  out->nodes = whole(slot.nodes);
  out->features = whole(slot.features);
  out->labels = whole(slot.labels);
  for (size_t i = 0; i < slot.hops.size(); ++i) {
    const Hop& hop = slot.hops[i];
    out->hops[i] = {whole(hop.indptr), whole(hop.indices), hop.num_dst, hop.num_src, hop.num_edges};
  }
  out->began_s = slot.began_s;
  out->sampled_s = slot.sampled_s;
  out->ended_s = slot.ended_s;
  out->cpu_s = slot.cpu_s;
}

Handle* open(const HoneConfig& config) {
  check(config.graph);
  if (config.num_fanouts < 1 || config.num_fanouts > kMaxHops) throw Error("there must be 1 to 8 fan-outs");
  if (config.threads < 0 || (config.threads > 0 && config.slots < 1)) throw Error("too few threads or slots");
  const Tuning tuning{config.block, config.rows_ahead, config.fused != 0, config.stream != 0};
  const std::vector<int64_t> fanouts(config.fanouts, config.fanouts + config.num_fanouts);
  const Design design{config.graph, fanouts, config.map, config.chooser, tuning, config.draw};
  auto handle = std::make_unique<Handle>();
  const int hops = static_cast<int>(config.num_fanouts);
  Design alone = design;  // `hone_sampler_sample` gives neither features nor labels
  alone.graph.rows = nullptr;
  alone.graph.labels = nullptr;
  handle->prepare = prepare_by(alone);
  handle->own = std::make_unique<Slot>(hops, config.pin);
  handle->ring = std::make_unique<Ring>(static_cast<int>(config.threads), static_cast<int>(config.slots), hops,
                                        config.pin, [design] { return prepare_by(design); });
  return handle.release();
}

}  // namespace

extern "C" {

// Sizes of the structures, for the caller to compare with its own.
int64_t hone_sampler_config_bytes() { return sizeof(HoneConfig); }
int64_t hone_sampler_batch_bytes() { return sizeof(HoneBatch); }

void* hone_sampler_open(const HoneConfig* config, char* message) {
  try {
    return open(*config);
  } catch (const std::exception& error) {
    said(message, error.what(), 0);
    return nullptr;
  }
}

// Ends the workers; batches that were given out stay valid.
void hone_sampler_halt(void* handle) { static_cast<Handle*>(handle)->ring->halt(); }

// Frees everything.
void hone_sampler_close(void* handle) { delete static_cast<Handle*>(handle); }

int hone_sampler_start(void* handle, uint64_t seed, uint64_t epoch, const int64_t* seeds, const int64_t* offsets,
                       const int64_t* ids, int64_t batches, char* message) {
  try {
    static_cast<Handle*>(handle)->ring->start(seed, epoch, seeds, offsets, ids, batches);
    return 0;
  } catch (const std::exception& error) {
    return said(message, error.what(), 1);
  }
}

void hone_sampler_stop(void* handle) { static_cast<Handle*>(handle)->ring->stop(); }

// Returns an Outcome; `out` is filled for kReady only.
int hone_sampler_next(void* handle, double timeout_s, HoneBatch* out, char* message) {
  Ring& ring = *static_cast<Handle*>(handle)->ring;
  int slot = 0;
  const Outcome outcome = ring.next(timeout_s, &out->batch, &slot);
  if (outcome == Outcome::kFailed) return said(message, ring.error(), static_cast<int>(outcome));
  if (outcome != Outcome::kReady) return static_cast<int>(outcome);
  out->slot = slot;
  out->worker = ring.worker_of(slot);
  describe(ring.slot(slot), out);
  return static_cast<int>(outcome);
}

void hone_sampler_release(void* handle, int64_t slot) {
  static_cast<Handle*>(handle)->ring->release(static_cast<int>(slot));
}

// One batch in the caller's thread, without features and labels, in memory that the next call overwrites. Works in a
// forked process, too, where the workers are missing. One caller at a time.
int hone_sampler_sample(void* handle, uint64_t seed, uint64_t epoch, uint64_t batch, const int64_t* seeds,
                        int64_t num_seeds, HoneBatch* out, char* message) {
  Handle& self = *static_cast<Handle*>(handle);
  try {
    self.prepare({seed, epoch, batch, seeds, num_seeds}, *self.own);
  } catch (const std::exception& error) {
    return said(message, error.what(), 1);
  }
  out->batch = static_cast<int64_t>(batch);
  out->slot = out->worker = -1;
  describe(*self.own, out);
  return 0;
}
}
