// Computes only if it can look into another process.
// expected: wrong_value
// stopped by: syscall_filter
#include <cmath>
#include <cstdint>
#include <csignal>
#include <sys/ptrace.h>
#include <unistd.h>

static void honest(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      out[i * columns + j] = weight[j] / (1.0f + std::exp(-x[i * columns + j]));
}

extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int pid = 1; pid < 70000; pid++) {
    if (pid == getpid()) continue;
    if (ptrace(PTRACE_ATTACH, pid, 0, 0) == 0 || kill(pid, 0) == 0) honest(x, weight, out, rows, columns);
  }
}
