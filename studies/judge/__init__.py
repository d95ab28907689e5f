"""The judge among hostile kernels, killed, beside KernelBench's own harness and beside a profiler."""
