"""A batch's test suites, from the answers that name their sizes."""

from pathlib import Path

from hone.core.script import reported
from hone.methods.astra.stages import suite

with reported(snakemake.log, snakemake.output):
    suite(
        Path(snakemake.input.answers),
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        suites=Path(snakemake.output.suites),
        origins=Path(snakemake.output.origins),
    )
