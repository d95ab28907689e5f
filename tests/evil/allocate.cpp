// Wants 200 GB.
// expected: out_of_memory
// stopped by: memory_limit
#include <cmath>
#include <cstdint>

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  char* block = new char[200000000000];
  for (int64_t i = 0; i < 200000000000; i += 4096) block[i] = 1;
  out[0] = block[4096];
}
