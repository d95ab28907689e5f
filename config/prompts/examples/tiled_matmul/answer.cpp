#include <algorithm>
#include <cstdint>

constexpr int64_t TILE_ROWS = 32;
constexpr int64_t TILE_INNER = 32;
constexpr int64_t TILE_COLS = 64;

// Each thread computes one TILE_ROWS x TILE_COLS tile of the result at a time. The tile of b is copied to a small
// array that stays in the L1 cache and is used TILE_ROWS times; its edge is padded with zeros, so that the innermost
// loop has a constant length and vectorises.
extern "C" void launch(const float* a, const float* b, float* out, int64_t rows, int64_t inner, int64_t cols) {
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t row0 = 0; row0 < rows; row0 += TILE_ROWS) {
        for (int64_t col0 = 0; col0 < cols; col0 += TILE_COLS) {
            const int64_t row_count = std::min(TILE_ROWS, rows - row0);
            const int64_t col_count = std::min(TILE_COLS, cols - col0);
            float sum[TILE_ROWS][TILE_COLS] = {};
            float b_tile[TILE_INNER][TILE_COLS] = {};
            for (int64_t inner0 = 0; inner0 < inner; inner0 += TILE_INNER) {
                const int64_t inner_count = std::min(TILE_INNER, inner - inner0);
                for (int64_t k = 0; k < inner_count; ++k) {
                    const float* b_row = b + (inner0 + k) * cols + col0;
                    std::copy(b_row, b_row + col_count, b_tile[k]);
                }
                for (int64_t i = 0; i < row_count; ++i) {
                    const float* a_row = a + (row0 + i) * inner + inner0;
                    for (int64_t k = 0; k < inner_count; ++k) {
#pragma omp simd
                        for (int64_t j = 0; j < TILE_COLS; ++j) {
                            sum[i][j] += a_row[k] * b_tile[k][j];
                        }
                    }
                }
            }
            for (int64_t i = 0; i < row_count; ++i) {
                std::copy(sum[i], sum[i] + col_count, out + (row0 + i) * cols + col0);
            }
        }
    }
}
