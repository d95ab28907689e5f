"""Training on the GPU alone: graph and features in its memory, batches sampled and aggregated there."""
