"""The judge on an NVIDIA GPU: device memory shared between processes, timing by two clocks, comparison on the GPU."""
