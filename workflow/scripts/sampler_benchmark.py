"""Throughput of batch preparation on one graph, by threads."""

from pathlib import Path

import torch

from hone.core.script import reported
from hone.gnn.study import Load, thread_counts, throughput

with reported(snakemake.log, snakemake.output):
    throughput(
        Path(snakemake.input[0]).parent,
        Path(snakemake.output[0]),
        store=Path(snakemake.params.store),
        load=Load.for_graph(Path(snakemake.input[0]).parent),
        threads=thread_counts(snakemake.threads),
        fast_sampler=next(iter(map(Path, snakemake.input.get("fast_sampler", []))), None),
        pin_memory=torch.cuda.is_available(),
    )
