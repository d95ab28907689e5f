#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

constexpr int64_t TILE_KEYS = 64;

// Online softmax: keys are taken in tiles, and what was summed so far is rescaled whenever a larger score appears. The
// seq_len x seq_len matrix of scores never exists.
static void attend(const float* query, const float* keys, const float* values, float* out, int64_t seq_len,
                   int64_t head_dim) {
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    float running_max = -std::numeric_limits<float>::infinity();
    float running_sum = 0.0f;
    std::fill(out, out + head_dim, 0.0f);
    for (int64_t key0 = 0; key0 < seq_len; key0 += TILE_KEYS) {
        const int64_t key_count = std::min(TILE_KEYS, seq_len - key0);
        float weight[TILE_KEYS];
        float new_max = running_max;
        for (int64_t j = 0; j < key_count; ++j) {
            const float* key = keys + (key0 + j) * head_dim;
            float dot = 0.0f;
#pragma omp simd reduction(+ : dot)
            for (int64_t d = 0; d < head_dim; ++d) {
                dot += query[d] * key[d];
            }
            weight[j] = dot * scale;
            new_max = std::max(new_max, weight[j]);
        }
        const float correction = std::exp(running_max - new_max);  // 0 for the first tile
        running_sum *= correction;
        for (int64_t d = 0; d < head_dim; ++d) {
            out[d] *= correction;
        }
        for (int64_t j = 0; j < key_count; ++j) {
            const float p = std::exp(weight[j] - new_max);
            const float* value = values + (key0 + j) * head_dim;
            running_sum += p;
#pragma omp simd
            for (int64_t d = 0; d < head_dim; ++d) {
                out[d] += p * value[d];
            }
        }
        running_max = new_max;
    }
    for (int64_t d = 0; d < head_dim; ++d) {
        out[d] /= running_sum;
    }
}

extern "C" void launch(const float* q, const float* k, const float* v, float* out, int64_t batch_size, int64_t heads,
                       int64_t seq_len, int64_t head_dim) {
#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t head = 0; head < batch_size * heads; ++head) {
        for (int64_t row = 0; row < seq_len; ++row) {
            const int64_t base = head * seq_len * head_dim;
            attend(q + base + row * head_dim, k + base, v + base, out + base + row * head_dim, seq_len, head_dim);
        }
    }
}
