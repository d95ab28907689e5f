// definition: miniature/level1/5_Square_matmul
// A tile of the result stays in registers or cache while k runs; B is read in panels of DEPTH rows.
// tune: ROWS in 1, 2, 4, 6, 8, 12
// tune: COLUMNS in 8, 16, 32, 64, 128, 256
// tune: DEPTH in 16, 64, 256, 1024
// tune: UNROLL in 1, 2, 4
// where: ROWS * COLUMNS <= 1024
#include <algorithm>
#include <cstdint>

#define PRAGMA(text) _Pragma(#text)
#define UNROLLED(times) PRAGMA(GCC unroll times)

extern "C" void launch(const float* A, const float* B, float* out, int64_t N) {
    std::fill(out, out + N * N, 0.0f);
    const int64_t rows = N - N % ROWS, columns = N - N % COLUMNS;
    for (int64_t k0 = 0; k0 < N; k0 += DEPTH) {
        const int64_t k1 = std::min<int64_t>(N, k0 + DEPTH);
        for (int64_t i = 0; i < rows; i += ROWS) {
            for (int64_t j = 0; j < columns; j += COLUMNS) {
                float tile[ROWS][COLUMNS] = {};
                UNROLLED(UNROLL)
                for (int64_t k = k0; k < k1; ++k) {
                    for (int r = 0; r < ROWS; ++r) {
                        const float a = A[(i + r) * N + k];
                        for (int c = 0; c < COLUMNS; ++c) tile[r][c] += a * B[k * N + j + c];
                    }
                }
                for (int r = 0; r < ROWS; ++r)
                    for (int c = 0; c < COLUMNS; ++c) out[(i + r) * N + j + c] += tile[r][c];
            }
            for (int64_t r = i; r < i + ROWS; ++r)
                for (int64_t k = k0; k < k1; ++k)
                    for (int64_t j = columns; j < N; ++j) out[r * N + j] += A[r * N + k] * B[k * N + j];
        }
        for (int64_t i = rows; i < N; ++i)
            for (int64_t k = k0; k < k1; ++k)
                for (int64_t j = 0; j < N; ++j) out[i * N + j] += A[i * N + k] * B[k * N + j];
    }
}
