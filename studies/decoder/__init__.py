"""What faster kernels are worth in a whole decoder layer."""
