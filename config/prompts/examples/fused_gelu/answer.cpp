#include <cmath>
#include <cstdint>

extern "C" void launch(const float* x, const float* bias, float* out, int64_t batch_size, int64_t features) {
    constexpr float INV_SQRT2 = 0.70710678f;
// Fused: the sum x + bias stays in a register, so x is read once and out is written once.
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < batch_size; ++row) {
        const float* x_row = x + row * features;
        float* out_row = out + row * features;
        for (int64_t col = 0; col < features; ++col) {
            const float sum = x_row[col] + bias[col];
            out_row[col] = 0.5f * sum * (1.0f + std::erf(sum * INV_SQRT2));
        }
    }
}
