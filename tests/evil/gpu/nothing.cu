// Leaves its output as it is, hoping for an earlier answer in it.
// definition: gpu_suite/level1/2_Row_sum
// group: 11
// expected: wrong_value
// earns: none
#include <cstdint>

extern "C" void launch(const float* x, float* out, int64_t rows, int64_t columns, int64_t,
                       cudaStream_t stream) {

}
