#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr int QUERIES = 8;  // queries of a block, one warp each
constexpr int MAX_HEAD_DIM = 128;
constexpr int DIMS_PER_LANE = MAX_HEAD_DIM / WARP;

__device__ float warp_max(float value) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
}

__device__ float warp_sum(float value) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

// Online softmax: keys are taken in tiles of one per lane, and what was summed so far is rescaled whenever a larger
// score appears. The seq_len x seq_len matrix of scores never exists. A lane first owns a key (its score), then the
// dimensions lane, lane + 32, ... of the result.
__global__ void attention_kernel(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                                 float* __restrict__ out, int64_t seq_len, int head_dim, float scale) {
    __shared__ float q_tile[QUERIES][MAX_HEAD_DIM];
    __shared__ float k_tile[WARP][MAX_HEAD_DIM + 1];  // one column of padding: lanes read different banks
    __shared__ float v_tile[WARP][MAX_HEAD_DIM];
    const int lane = threadIdx.x;
    const int warp = threadIdx.y;
    const int64_t query_blocks = (seq_len + QUERIES - 1) / QUERIES;
    const int64_t base = blockIdx.x / query_blocks * seq_len * head_dim;
    const int64_t query = blockIdx.x % query_blocks * QUERIES + warp;
    for (int d = lane; d < head_dim; d += WARP) {
        q_tile[warp][d] = query < seq_len ? q[base + query * head_dim + d] : 0.0f;
    }
    float running_max = -INFINITY;
    float running_sum = 0.0f;
    float result[DIMS_PER_LANE] = {};
    for (int64_t key0 = 0; key0 < seq_len; key0 += WARP) {
        const int key_count = static_cast<int>(min(static_cast<int64_t>(WARP), seq_len - key0));
        __syncthreads();  // nobody overwrites a tile that is still being read
        for (int j = warp; j < key_count; j += QUERIES) {
            for (int d = lane; d < head_dim; d += WARP) {
                k_tile[j][d] = k[base + (key0 + j) * head_dim + d];
                v_tile[j][d] = v[base + (key0 + j) * head_dim + d];
            }
        }
        __syncthreads();
        float score = -INFINITY;  // a lane without a key gets the weight 0
        if (lane < key_count) {
            float dot = 0.0f;
            for (int d = 0; d < head_dim; ++d) {
                dot += q_tile[warp][d] * k_tile[lane][d];
            }
            score = dot * scale;
        }
        const float new_max = fmaxf(running_max, warp_max(score));
        const float correction = expf(running_max - new_max);  // 0 for the first tile
        const float weight = expf(score - new_max);
        running_sum = running_sum * correction + warp_sum(weight);
        running_max = new_max;
        for (int c = 0; c < DIMS_PER_LANE; ++c) {
            result[c] *= correction;
        }
        for (int j = 0; j < key_count; ++j) {
            const float p = __shfl_sync(0xffffffffu, weight, j);
#pragma unroll
            for (int c = 0; c < DIMS_PER_LANE; ++c) {
                const int d = c * WARP + lane;
                if (d < head_dim) {
                    result[c] += p * v_tile[j][d];
                }
            }
        }
    }
#pragma unroll
    for (int c = 0; c < DIMS_PER_LANE; ++c) {
        const int d = c * WARP + lane;
        if (query < seq_len && d < head_dim) {
            out[base + query * head_dim + d] = result[c] / running_sum;
        }
    }
}

extern "C" void launch(const float* q, const float* k, const float* v, float* out, int64_t batch_size, int64_t heads,
                       int64_t seq_len, int64_t head_dim, cudaStream_t stream) {
    if (head_dim > MAX_HEAD_DIM) {
        std::fprintf(stderr, "head_dim is limited to %d\n", MAX_HEAD_DIM);
        std::abort();
    }
    const int64_t query_blocks = (seq_len + QUERIES - 1) / QUERIES;
    const auto blocks = static_cast<unsigned int>(batch_size * heads * query_blocks);
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    attention_kernel<<<blocks, dim3(WARP, QUERIES), 0, stream>>>(q, k, v, out, seq_len, static_cast<int>(head_dim),
                                                                scale);
}
