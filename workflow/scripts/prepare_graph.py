"""A graph as memory-mapped arrays."""

from pathlib import Path

from hone.config.settings import parse_graph
from hone.core.errors import located
from hone.core.script import reported
from hone.gnn.prepare import prepare

with reported(snakemake.log, snakemake.output), located(f"graphs.{snakemake.wildcards.graph}"):
    entry = parse_graph({**snakemake.params.graph, "memory_mib": snakemake.resources.memory_mib})
    prepare(snakemake.wildcards.graph, entry, Path(snakemake.output[0]).parent)
