"""Where graph and features lie: on the GPU, on several, or on the host with a cache on the GPU."""
