"""The definitions and workloads of one batch."""

from pathlib import Path

from hone.core.script import reported
from hone.sources.stages import select_batch

with reported(snakemake.log, snakemake.output):
    select_batch(
        {(level, number) for level, number in snakemake.params.batch},
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        chosen=Path(snakemake.output.definitions),
        chosen_workloads=Path(snakemake.output.workloads),
    )
