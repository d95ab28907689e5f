// The end of a step: loss with its gradient, and Adam.
#pragma once

#include "common.cuh"
#include "sample.cuh"

namespace hone {

// Sum over the 32 threads of a warp, for all of them.
__device__ inline float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
  return value;
}

__device__ inline float warp_max(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

constexpr int kLossThreads = 128;

// Negative log-likelihood of the labels under softmax, and its gradient by the scores, a warp for each row. None of
// the first loads waits for another: beside the gathering of features each takes several times as long as alone.
//
// labels (rows) int64; scores (rows, width) bfloat16, of which `classes` columns count; losses (rows) float32, zero
// beyond the batch's seeds; gradient (rows, width) bfloat16, zero there too and in the other columns; of the mean over
// `global_seeds`. It may lie where the scores lie.
__global__ void loss_and_gradient(
    const int32_t* sizes, const int64_t* labels, const void* scores, int rows, int classes, int width,
    const int32_t* global_seeds, float* losses, void* gradient
) {
  const int64_t row = global_thread() / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const auto* mine = static_cast<const __nv_bfloat16*>(scores) + row * width;
  auto* out = static_cast<__nv_bfloat16*>(gradient) + row * width;
  const int64_t label = labels[row];
  const int32_t filled = sizes[0], seeds = *global_seeds;
  float most = -INFINITY, right = 0.0f;
  for (int c = lane; c < classes; c += 32) {
    const float score = __bfloat162float(mine[c]);
    most = fmaxf(most, score);
    if (c == label) right = score;
  }
  const bool there = row < filled;
  most = warp_max(most);
  right = warp_sum(right);
  float sum = 0.0f;
  for (int c = lane; c < classes; c += 32) sum += expf(__bfloat162float(mine[c]) - most);
  sum = warp_sum(sum);
  const float weight = there ? 1.0f / static_cast<float>(seeds) : 0.0f;
  for (int c = lane; c < width; c += 32) {
    const float share = c < classes ? expf(__bfloat162float(mine[c]) - most) / sum : 0.0f;
    out[c] = __float2bfloat16_rn((share - (c == label ? 1.0f : 0.0f)) * weight);
  }
  if (lane == 0) losses[row] = there ? logf(sum) + most - right : 0.0f;
}

// The sum of a batch's losses, in one block: total (1) float64, with the same bits every time.
__global__ void sum_losses(const float* losses, int rows, double* total) {
  __shared__ double sums[kThreads];
  double mine = 0.0;
  for (int row = threadIdx.x; row < rows; row += kThreads) mine += static_cast<double>(losses[row]);
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (int distance = kThreads / 2; distance > 0; distance /= 2) {
    if (threadIdx.x < static_cast<unsigned>(distance)) sums[threadIdx.x] += sums[threadIdx.x + distance];
    __syncthreads();
  }
  if (threadIdx.x == 0) *total = sums[0];
}

// Lowers the learning rate on a plateau, as `hone.gnn.plateau` does.
struct Plateau {
  double* best;
  int64_t* bad_steps;
  double factor;  // 0: the rate stays as it is
  int64_t patience;
  double threshold;
  double least_change;
};

// Takes account of a batch's loss, summed over all processes, and counts the step.
__global__ void note_loss(const double* total, const int32_t* global_seeds, double* loss_sum, float* rate,
                          int64_t* steps, Plateau plateau) {
  *loss_sum += *total;
  ++*steps;
  if (plateau.factor == 0.0 || *global_seeds == 0) return;
  const double loss = *total / *global_seeds;
  const bool better = loss < *plateau.best * (1.0 - plateau.threshold);
  if (better) *plateau.best = loss;
  const int64_t bad = better ? 0 : *plateau.bad_steps + 1;
  const bool lower = bad > plateau.patience;
  const float lowered = *rate * static_cast<float>(plateau.factor);
  if (lower && *rate - lowered > static_cast<float>(plateau.least_change)) *rate = lowered;
  *plateau.bad_steps = lower ? 0 : bad;
}

// kAtOnce numbers in one load where that many are there.
constexpr int kAtOnce = 4;

__device__ inline void read_some(const float* place, int here, float (&out)[kAtOnce]) {
  if (here == kAtOnce) {
    const float4 all = *reinterpret_cast<const float4*>(place);
    out[0] = all.x, out[1] = all.y, out[2] = all.z, out[3] = all.w;
  } else {
    for (int i = 0; i < kAtOnce; ++i) out[i] = i < here ? place[i] : 0.0f;
  }
}

__device__ inline void write_some(float* place, int here, const float (&values)[kAtOnce]) {
  if (here == kAtOnce) {
    *reinterpret_cast<float4*>(place) = make_float4(values[0], values[1], values[2], values[3]);
  } else {
    for (int i = 0; i < here; ++i) place[i] = values[i];
  }
}

// Adam on all parameters in one piece (Kingma, Ba 2015, as torch.optim.Adam does it, weight decay included).
//
// parameters, first, second, gradient (count) float32; rounded (count) bfloat16: what the next step's products read.
// `steps` is 1 in the first step; `rate` lies in device memory, where a schedule can change it. All vectors begin at
// multiples of 16 bytes. A thread has kAtOnce parameters, so that all threads are on the GPU at once up to some 300,000.
__global__ void adam(
    int64_t count, const float* gradient, float* parameters, float* first, float* second, void* rounded,
    const float* rate, const int64_t* steps, float beta1, float beta2, float epsilon, float decay
) {
  const int64_t begin = kAtOnce * global_thread();
  if (begin >= count) return;
  const int here = count - begin < kAtOnce ? static_cast<int>(count - begin) : kAtOnce;
  float g[kAtOnce], p[kAtOnce], m[kAtOnce], v[kAtOnce];
  read_some(gradient + begin, here, g);
  read_some(parameters + begin, here, p);
  read_some(first + begin, here, m);
  read_some(second + begin, here, v);
  const float t = static_cast<float>(*steps);
  const float of_second = 1.0f - powf(beta2, t), step = *rate / (1.0f - powf(beta1, t));
  __nv_bfloat16* const narrow = static_cast<__nv_bfloat16*>(rounded) + begin;
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) {
    const float whole = g[i] + decay * p[i];
    m[i] = beta1 * m[i] + (1.0f - beta1) * whole;
    v[i] = beta2 * v[i] + (1.0f - beta2) * whole * whole;
    p[i] -= step * m[i] / (sqrtf(v[i] / of_second) + epsilon);
    if (i < here) narrow[i] = __float2bfloat16_rn(p[i]);
  }
  write_some(parameters + begin, here, p);
  write_some(first + begin, here, m);
  write_some(second + begin, here, v);
}

}  // namespace hone
