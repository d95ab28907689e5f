// Runs the sampler's workers on a small graph, for the sanitizers: several epochs, an early stop, bad seeds, growing
// slots, all fan-outs. Exits with 0 when one and four workers prepare the same batches.
#include <cstdio>
#include <vector>

#include "api.cpp"

namespace {

constexpr int64_t kNodes = 3000, kRowBytes = 192, kBatch = 37, kBatches = 12;

struct Data {
  std::vector<int64_t> indptr{0}, labels;
  std::vector<int32_t> indices;
  std::vector<unsigned char> rows;

  Data() {
    Stream stream(7, 0);
    for (int64_t v = 0; v < kNodes; ++v) {
      // A hub, nodes without neighbours, and lists of up to 99.
      const int64_t degree = v == 5 ? kNodes : v % 11 == 0 ? 0 : stream.below(100);
      for (int64_t j = 0; j < degree; ++j) indices.push_back(v == 5 ? int32_t(j) : int32_t(stream.below(kNodes)));
      indptr.push_back(int64_t(indices.size()));
      labels.push_back(v % 7);
    }
    for (int64_t i = 0; i < kNodes * kRowBytes; ++i) rows.push_back(static_cast<unsigned char>(mix(i)));
  }
};

// The sampler's own inner loop, as another kernel would stand in its place.
void draw(const int64_t* indptr, const int32_t* indices, const int32_t* rows, int64_t key, int32_t* neighbours,
          int32_t* degrees, int64_t, int64_t, int64_t count, int64_t fanout) {
  sample_neighbours<BitsChooser>(indptr, indices, rows, count, fanout, uint64_t(key), neighbours, degrees);
}

HoneConfig config_of(const Data& data, const std::vector<int64_t>& fanouts, int64_t threads, int64_t map, bool fused) {
  HoneConfig config{};
  config.graph = {data.indptr.data(), data.indices.data(), kNodes, int64_t(data.indices.size()),
                  data.rows.data(),   kRowBytes,           data.labels.data()};
  config.fanouts = fanouts.data();
  config.num_fanouts = int64_t(fanouts.size());
  config.threads = threads;
  config.slots = threads + 1;
  config.map = map;
  config.block = 8;
  config.rows_ahead = 4;
  config.fused = fused;
  config.stream = true;
  config.draw = fused ? draw : nullptr;
  return config;
}

uint64_t digest(const HoneBatch& batch, size_t hops) {
  uint64_t sum = mix(batch.num_nodes);
  for (size_t h = 0; h < hops; ++h) {
    const int32_t* indices = static_cast<const int32_t*>(batch.hops[h].indices.address);
    for (int64_t e = 0; e < batch.hops[h].num_edges; ++e) sum = mix(sum + uint32_t(indices[e]));
  }
  const auto* rows = static_cast<const unsigned char*>(batch.features.address);
  for (int64_t i = 0; i < batch.num_nodes * kRowBytes; ++i) sum = sum * 31 + rows[i];
  return sum;
}

// Digests of all batches of `epochs` epochs; the first one is abandoned after its third batch.
std::vector<uint64_t> run(const Data& data, const std::vector<int64_t>& fanouts, int64_t threads, int64_t map,
                          bool fused) {
  char message[256];
  const HoneConfig config = config_of(data, fanouts, threads, map, fused);
  void* sampler = hone_sampler_open(&config, message);
  std::vector<int64_t> seeds, offsets{0}, ids;
  for (int64_t b = 0; b < kBatches; ++b) {
    for (int64_t i = 0; i < kBatch; ++i) seeds.push_back((b * kBatch + i * 3) % kNodes);
    offsets.push_back(int64_t(seeds.size()));
    ids.push_back(b);
  }
  std::vector<uint64_t> found;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    hone_sampler_start(sampler, 1, epoch, seeds.data(), offsets.data(), ids.data(), kBatches, message);
    HoneBatch batch;
    while (true) {
      const int outcome = hone_sampler_next(sampler, 0.01, &batch, message);
      if (outcome == int(Outcome::kTimeout)) continue;
      if (outcome != int(Outcome::kReady)) break;
      found.push_back(digest(batch, fanouts.size()));
      hone_sampler_release(sampler, batch.slot);
      if (epoch == 0 && batch.batch == 2) break;
    }
    hone_sampler_stop(sampler);
  }
  seeds[40] = seeds[41];  // twice in the second batch
  hone_sampler_start(sampler, 1, 9, seeds.data(), offsets.data(), ids.data(), kBatches, message);
  HoneBatch batch;
  int outcome = int(Outcome::kReady);
  while (outcome != int(Outcome::kFailed) && outcome != int(Outcome::kEnd)) {
    outcome = hone_sampler_next(sampler, 0.01, &batch, message);
    if (outcome == int(Outcome::kReady)) hone_sampler_release(sampler, batch.slot);
  }
  if (outcome != int(Outcome::kFailed)) found.clear();
  hone_sampler_sample(sampler, 1, 0, 0, seeds.data(), 5, &batch, message);
  hone_sampler_close(sampler);
  return found;
}

}  // namespace

int main() {
  const Data data;
#ifdef HONE_STUDY
  const int64_t maps = 5;
#else
  const int64_t maps = 2;
#endif
  for (const std::vector<int64_t>& fanouts : {std::vector<int64_t>{5, 3}, {-1}, {1, 40, 2}}) {
    const std::vector<uint64_t> alone = run(data, fanouts, 1, 0, false);
    if (alone.size() != 3 + 2 * kBatches) return 1;
    for (int64_t map = 0; map < maps; ++map) {
      if (run(data, fanouts, 4, map, map % 2 == 1) != alone) return 2;
    }
  }
  std::puts("same batches");
  return 0;
}
