"""Where problems come from: upstream files in KernelBench's format become definitions."""
