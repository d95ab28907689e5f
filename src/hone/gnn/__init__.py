"""Training graph neural networks on sampled batches: graphs, samplers, the one training loop and its stages."""
