// Entry points for ctypes: each puts one piece of work on a stream and returns at once.
#include "common.cuh"
#include "gradient_of_weights.cuh"
#include "learn.cuh"
#include "operators.cuh"
#include "padded_api.cuh"
#include "sample.cuh"
#include "spread.cuh"

using namespace hone;

extern "C" {

int hone_max_fanout() { return kMaxFanout; }
int hone_slots_per_block() { return kThreads; }

void hone_begin_batch(const Progress* progress, Map map, const int64_t* order, const int64_t* labels, int32_t* nodes,
                      int32_t* locals, int64_t* seed_labels, int32_t* sizes, int32_t* global_seeds, int32_t* overflow,
                      int64_t batch_size, uint64_t rank, uint64_t* keys, int layers, cudaStream_t stream) {
  HONE_LAUNCH(begin_batch, blocks_for(batch_size, kThreads), kThreads, stream)
  (progress, map, order, labels, nodes, locals, seed_labels, sizes, global_seeds, overflow, rank, keys, layers);
}

void hone_draw(const Progress* progress, Graph graph, Map map, const int32_t* nodes, Hop hop, int last,
               cudaStream_t stream) {
  launch_draw(progress, graph, map, nodes, hop, last != 0, stream);
}

// Local ids, and unless `ranks` is 0 the inverse of the hop; `sorted`: with each source's readers in ascending order.
void hone_relabel(const Progress* progress, Map map, Hop hop, int32_t* nodes, int32_t* locals, int32_t* counts,
                  int32_t* ranks, int32_t* offsets, int32_t* readers, uint64_t* published, int32_t* overflow,
                  int sorted, cudaStream_t stream) {
  const int64_t slots = static_cast<int64_t>(hop.max_dst) * hop.fanout;
  HONE_LAUNCH(number_nodes, blocks_for(slots, kThreads), kThreads, stream)
  (progress, map, hop, nodes, locals, counts, published, overflow);
  HONE_LAUNCH(relabel, blocks_for(slots, kThreads), kThreads, stream)(map, hop, locals, counts, ranks);
  if (!ranks) return;
  HONE_LAUNCH(offset_readers, blocks_for(hop.max_src + 1, kThreads), kThreads, stream)
  (progress, hop, counts, offsets, published);
  HONE_LAUNCH(list_readers, blocks_for(slots, kThreads), kThreads, stream)(hop, offsets, ranks, readers);
  if (sorted) HONE_LAUNCH(sort_readers, blocks_for(hop.max_src, kThreads), kThreads, stream)(hop, offsets, readers);
}

void hone_end_batch(Progress* progress, const int32_t* overflow, int32_t* seen, cudaStream_t stream) {
  HONE_LAUNCH(end_batch, 1, 1, stream)(progress, overflow, seen);
}

void hone_mean_of_features(Hop hop, const int32_t* nodes, const void* features, int half, int width, void* out,
                           cudaStream_t stream) {
  half ? launch_mean_of_features(hop, nodes, static_cast<const __half*>(features), width, out, stream)
       : launch_mean_of_features(hop, nodes, static_cast<const __nv_bfloat16*>(features), width, out, stream);
}

void hone_mean_of_spread_features(Hop hop, const int32_t* nodes, SpreadRows features, int half, int width, void* out,
                                  cudaStream_t stream) {
  half ? launch_mean_of_spread_features<__half>(hop, nodes, features, width, out, stream)
       : launch_mean_of_spread_features<__nv_bfloat16>(hop, nodes, features, width, out, stream);
}

// `notes`: of states' elements, which pass; none are written, or read, where it is 0.
void hone_mean_of_states(Hop hop, const void* states, int width, Dropout dropout, uint8_t* notes, void* out,
                         cudaStream_t stream) {
  launch_mean_of_states(hop, states, width, dropout, out, stream, notes);
}

void hone_gradient_of_states(Hop hop, const int32_t* offsets, const int32_t* readers, const void* out_gradient,
                             const void* states, const uint8_t* notes, int width, Dropout dropout, void* gradient,
                             cudaStream_t stream) {
  launch_gradient_of_states(hop, offsets, readers, out_gradient, states, width, dropout, gradient, stream, notes);
}

// Pairs of blocks that share the terms of each part of the weights; 0: this GPU has no such kernel.
int hone_weight_parts(int inputs, int width) { return weight_parts(inputs, width); }

// `partials` (weight_parts, inputs, width); `next`: zeros, a number for each block of one part, or 0.
void hone_gradient_of_weights(Hop hop, const void* input, int inputs, const void* out_gradient, const uint8_t* notes,
                              int width, Dropout dropout, uint32_t* next, float* partials, float* out,
                              cudaStream_t stream) {
  const Divisor terms(static_cast<uint32_t>(hop.fanout) + 1);
  launch_gradient_of_weights({hop, input, out_gradient, notes, inputs, width, dropout.scale, terms}, next, partials,
                             out, stream);
}

void hone_loss(const int32_t* sizes, const int64_t* labels, const void* scores, int rows, int classes, int width,
               const int32_t* global_seeds, float* losses, void* gradient, cudaStream_t stream) {
  HONE_LAUNCH(loss_and_gradient, blocks_for(static_cast<int64_t>(rows) * 32, kLossThreads), kLossThreads, stream)
  (sizes, labels, scores, rows, classes, width, global_seeds, losses, gradient);
}

void hone_sum_losses(const float* losses, int rows, double* total, cudaStream_t stream) {
  HONE_LAUNCH(sum_losses, 1, kThreads, stream)(losses, rows, total);
}

void hone_note_loss(const double* total, const int32_t* global_seeds, double* loss_sum, float* rate, int64_t* steps,
                    Plateau plateau, cudaStream_t stream) {
  HONE_LAUNCH(note_loss, 1, 1, stream)(total, global_seeds, loss_sum, rate, steps, plateau);
}

void hone_adam(int64_t count, const float* gradient, float* parameters, float* first, float* second, void* rounded,
               const float* rate, const int64_t* steps, float beta1, float beta2, float epsilon, float decay,
               cudaStream_t stream) {
  HONE_LAUNCH(adam, blocks_for(count, kAtOnce * kThreads), kThreads, stream)
  (count, gradient, parameters, first, second, rounded, rate, steps, beta1, beta2, epsilon, decay);
}

}  // extern "C"
