"""Candidates and distinct solutions of a batch."""

from pathlib import Path

from hone.core.script import reported
from hone.methods.stages import extract

with reported(snakemake.log, snakemake.output):
    extract(
        Path(snakemake.input[0]),
        snakemake.params.experiment,
        candidates=Path(snakemake.output.candidates),
        solutions=Path(snakemake.output.solutions),
    )
