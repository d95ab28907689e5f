"""Where solutions run: a CPU, or one NVIDIA GPU."""
