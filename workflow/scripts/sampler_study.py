"""The sampler's design study on one graph."""

from pathlib import Path

from hone.core.script import reported
from hone.gnn.study import Load, explore

with reported(snakemake.log, snakemake.output):
    explore(
        Path(snakemake.input[0]).parent,
        Path(snakemake.output[0]),
        store=Path(snakemake.params.store),
        load=Load.for_graph(Path(snakemake.input[0]).parent),
    )
