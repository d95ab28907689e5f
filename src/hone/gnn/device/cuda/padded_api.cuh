// Entry points of padded.cuh and normalise.cuh. Matrices are bfloat16, or float32 where `wide` is not 0.
#pragma once

#include "normalise.cuh"
#include "spread.cuh"

namespace hone {

template <class T>
Matrix<T> matrix_of(void* numbers, int width) {
  return {static_cast<T*>(numbers), width, width % 8 == 0 && reinterpret_cast<uintptr_t>(numbers) % 16 == 0};
}

template <class T>
Matrix<const T> matrix_of(const void* numbers, int width) {
  return {static_cast<const T*>(numbers), width, width % 8 == 0 && reinterpret_cast<uintptr_t>(numbers) % 16 == 0};
}

// For a thread for every eight numbers of each row.
inline unsigned blocks_of(int64_t rows, int width) { return blocks_for(rows * ((width + 7) / 8), kThreads); }

template <class T>
void launch_sum_of_neighbours(const Hop& hop, const void* x, const void* weights, int width, void* out,
                              cudaStream_t stream) {
  const auto kernel = sum_of_neighbours<T>;
  HONE_LAUNCH(kernel, blocks_of(hop.max_dst, width), kThreads, stream)
  (hop, matrix_of<T>(x, width), static_cast<const T*>(weights), matrix_of<T>(out, width));
}

template <class T>
void launch_sum_of_readers(const Hop& hop, const int32_t* offsets, const int32_t* readers, const void* gradient,
                           const void* weights, int width, void* out, cudaStream_t stream) {
  const auto kernel = sum_of_readers<T>;
  HONE_LAUNCH(kernel, blocks_of(hop.max_src, width), kThreads, stream)
  (hop, offsets, readers, matrix_of<T>(gradient, width), static_cast<const T*>(weights), matrix_of<T>(out, width));
}

template <class T>
void launch_sum_of_dropped(const Hop& hop, const void* x, int width, const Dropout& dropout, uint64_t site, void* out,
                           cudaStream_t stream) {
  const auto kernel = sum_of_dropped<T>;
  HONE_LAUNCH(kernel, blocks_of(hop.max_dst, width), kThreads, stream)
  (hop, matrix_of<T>(x, width), dropout, site, matrix_of<T>(out, width));
}

template <class T>
void launch_gradient_of_dropped(const Hop& hop, const int32_t* offsets, const int32_t* readers, const void* gradient,
                                const void* of_rows, int width, const Dropout& dropout, uint64_t site, void* out,
                                cudaStream_t stream) {
  const auto kernel = gradient_of_dropped<T>;
  HONE_LAUNCH(kernel, blocks_of(hop.max_src, width), kThreads, stream)
  (hop, offsets, readers, matrix_of<T>(gradient, width), matrix_of<T>(of_rows, width), dropout, site,
   matrix_of<T>(out, width));
}

template <class T>
void launch_products_of_slots(const Hop& hop, const void* gradient, const void* x, int width, float* out,
                              cudaStream_t stream) {
  const int64_t slots = static_cast<int64_t>(hop.max_dst) * hop.fanout;
  const auto kernel = products_of_slots<T>;
  HONE_LAUNCH(kernel, blocks_for(slots * kSharing, kThreads), kThreads, stream)
  (hop, matrix_of<T>(gradient, width), matrix_of<T>(x, width), out);
}

template <class T>
void launch_drop(const void* x, int rows, int width, const Dropout& dropout, uint64_t site, void* out,
                 cudaStream_t stream) {
  const auto kernel = drop<T>;
  HONE_LAUNCH(kernel, blocks_of(rows, width), kThreads, stream)
  (matrix_of<T>(x, width), rows, dropout, site, matrix_of<T>(out, width));
}

template <class T>
void launch_moments(const int32_t* count, const void* x, int width, int parts, float* means, float* squares,
                    cudaStream_t stream) {
  const auto kernel = moments<T>;
  HONE_LAUNCH(kernel, blocks_of(parts, width), kThreads, stream)
  (count, matrix_of<T>(x, width), parts, matrix_of<float>(means, width), matrix_of<float>(squares, width));
}

// Parts of a matrix that a thread for every eight columns of each goes through: as many as keep a GPU busy.
inline int parts_of(int rows, int width) {
  const int parts = (1 << 18) / ((width + 7) / 8);
  return parts < 1 ? 1 : parts < rows ? parts : rows;
}

template <class T>
void launch_normalise(const void* x, const void* skip, int rows, int width, const Columns& columns,
                      const Activation& activation, void* out, cudaStream_t stream) {
  const auto kernel = activation.dropout.scale != 0.0f ? normalise<T, true> : normalise<T, false>;
  const int parts = parts_of(rows, width);
  HONE_LAUNCH(kernel, blocks_of(parts, width), kThreads, stream)
  (matrix_of<T>(x, width), matrix_of<T>(skip, width), rows, parts, columns, activation, matrix_of<T>(out, width));
}

template <class T>
void launch_gradient_moments(const int32_t* count, const void* gradient, const void* x, int width,
                             const Columns& columns, const Activation& activation, int parts, float* sums,
                             float* products, cudaStream_t stream) {
  const auto kernel = activation.dropout.scale != 0.0f ? gradient_moments<T, true> : gradient_moments<T, false>;
  HONE_LAUNCH(kernel, blocks_of(parts, width), kThreads, stream)
  (count, matrix_of<T>(gradient, width), matrix_of<T>(x, width), columns, activation, parts,
   matrix_of<float>(sums, width), matrix_of<float>(products, width));
}

template <class T>
void launch_gradient_of_normalised(const int32_t* count, const void* gradient, const void* x, int rows, int width,
                                   const Columns& columns, const Activation& activation, const float* sums,
                                   const float* products, void* out, cudaStream_t stream) {
  const auto kernel =
      activation.dropout.scale != 0.0f ? gradient_of_normalised<T, true> : gradient_of_normalised<T, false>;
  const int parts = parts_of(rows, width);
  HONE_LAUNCH(kernel, blocks_of(parts, width), kThreads, stream)
  (count, matrix_of<T>(gradient, width), matrix_of<T>(x, width), rows, parts, columns, activation, sums, products,
   matrix_of<T>(out, width));
}

template <class T, class Table>
void launch_gather_features(const int32_t* count, const int32_t* nodes, Table features, int rows, int width, void* out,
                            cudaStream_t stream) {
  const auto kernel = gather_features<T, Table>;
  HONE_LAUNCH(kernel, blocks_of(rows, width), kThreads, stream)(count, nodes, features, rows, width, out);
}

}  // namespace hone

extern "C" {

void hone_gather_features(const int32_t* count, const int32_t* nodes, const void* features, int half, int rows,
                          int width, void* out, cudaStream_t stream) {
  half ? hone::launch_gather_features<__half>(count, nodes, features, rows, width, out, stream)
       : hone::launch_gather_features<__nv_bfloat16>(count, nodes, features, rows, width, out, stream);
}

void hone_gather_spread_features(const int32_t* count, const int32_t* nodes, hone::SpreadRows features, int half,
                                 int rows, int width, void* out, cudaStream_t stream) {
  half ? hone::launch_gather_features<__half>(count, nodes, features, rows, width, out, stream)
       : hone::launch_gather_features<__nv_bfloat16>(count, nodes, features, rows, width, out, stream);
}

// `weights` may be null: a sum without them.
void hone_sum_of_neighbours(hone::Hop hop, const void* x, const void* weights, int wide, int width, void* out,
                            cudaStream_t stream) {
  const auto launch = wide ? hone::launch_sum_of_neighbours<float> : hone::launch_sum_of_neighbours<__nv_bfloat16>;
  launch(hop, x, weights, width, out, stream);
}

void hone_sum_of_readers(hone::Hop hop, const int32_t* offsets, const int32_t* readers, const void* gradient,
                         const void* weights, int wide, int width, void* out, cudaStream_t stream) {
  const auto launch = wide ? hone::launch_sum_of_readers<float> : hone::launch_sum_of_readers<__nv_bfloat16>;
  launch(hop, offsets, readers, gradient, weights, width, out, stream);
}

void hone_sum_of_dropped(hone::Hop hop, const void* x, int wide, int width, hone::Dropout dropout, uint64_t site,
                         void* out, cudaStream_t stream) {
  const auto launch = wide ? hone::launch_sum_of_dropped<float> : hone::launch_sum_of_dropped<__nv_bfloat16>;
  launch(hop, x, width, dropout, site, out, stream);
}

// `of_rows` has a row for each destination that there is room for.
void hone_gradient_of_dropped(hone::Hop hop, const int32_t* offsets, const int32_t* readers, const void* gradient,
                              const void* of_rows, int wide, int width, hone::Dropout dropout, uint64_t site, void* out,
                              cudaStream_t stream) {
  const auto launch = wide ? hone::launch_gradient_of_dropped<float> : hone::launch_gradient_of_dropped<__nv_bfloat16>;
  launch(hop, offsets, readers, gradient, of_rows, width, dropout, site, out, stream);
}

void hone_products_of_slots(hone::Hop hop, const void* gradient, const void* x, int wide, int width, float* out,
                            cudaStream_t stream) {
  const auto launch = wide ? hone::launch_products_of_slots<float> : hone::launch_products_of_slots<__nv_bfloat16>;
  launch(hop, gradient, x, width, out, stream);
}

void hone_slots_of_sources(hone::Hop hop, const float* values, float* out, cudaStream_t stream) {
  const int64_t slots = static_cast<int64_t>(hop.max_dst) * hop.fanout;
  HONE_LAUNCH(hone::slots_of_sources, hone::blocks_for(slots, hone::kThreads), hone::kThreads, stream)
  (hop, values, out);
}

void hone_sum_of_slots(hone::Hop hop, const int32_t* offsets, const int32_t* readers, const float* values, float* out,
                       cudaStream_t stream) {
  HONE_LAUNCH(hone::sum_of_slots, hone::blocks_for(hop.max_src, hone::kThreads), hone::kThreads, stream)
  (hop, offsets, readers, values, out);
}

void hone_drop(const void* x, int wide, int rows, int width, hone::Dropout dropout, uint64_t site, void* out,
               cudaStream_t stream) {
  const auto launch = wide ? hone::launch_drop<float> : hone::launch_drop<__nv_bfloat16>;
  launch(x, rows, width, dropout, site, out, stream);
}

void hone_moments(const int32_t* count, const void* x, int wide, int width, int parts, float* means, float* squares,
                  cudaStream_t stream) {
  const auto launch = wide ? hone::launch_moments<float> : hone::launch_moments<__nv_bfloat16>;
  launch(count, x, width, parts, means, squares, stream);
}

void hone_join_moments(const int32_t* count, const float* means, const float* squares, int parts, int width,
                       float epsilon, hone::Running running, float* mean, float* scale, float* several,
                       cudaStream_t stream) {
  HONE_LAUNCH(hone::join_moments, hone::blocks_for(width, hone::kColumns), hone::kColumns * hone::kLanes, stream)
  (count, means, squares, parts, width, epsilon, running, mean, scale, several);
}

// `skip` may be null: nothing is added.
void hone_normalise(const void* x, const void* skip, int wide, int rows, int width, hone::Columns columns,
                    hone::Activation activation, void* out, cudaStream_t stream) {
  const auto launch = wide ? hone::launch_normalise<float> : hone::launch_normalise<__nv_bfloat16>;
  launch(x, skip, rows, width, columns, activation, out, stream);
}

void hone_gradient_moments(const int32_t* count, const void* gradient, const void* x, int wide, int width,
                           hone::Columns columns, hone::Activation activation, int parts, float* sums, float* products,
                           cudaStream_t stream) {
  const auto launch = wide ? hone::launch_gradient_moments<float> : hone::launch_gradient_moments<__nv_bfloat16>;
  launch(count, gradient, x, width, columns, activation, parts, sums, products, stream);
}

void hone_gradient_of_normalised(const int32_t* count, const void* gradient, const void* x, int wide, int rows,
                                 int width, hone::Columns columns, hone::Activation activation, const float* sums,
                                 const float* products, void* out, cudaStream_t stream) {
  const auto launch =
      wide ? hone::launch_gradient_of_normalised<float> : hone::launch_gradient_of_normalised<__nv_bfloat16>;
  launch(count, gradient, x, rows, width, columns, activation, sums, products, out, stream);
}

}  // extern "C"
