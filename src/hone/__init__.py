"""Hone: LLM-written kernels and GNN training systems, reproduced as one Snakemake experiment."""

__version__ = "0.1.0"
