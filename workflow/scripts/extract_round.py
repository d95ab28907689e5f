"""Attempts, candidates and distinct solutions of a round of a batch."""

from pathlib import Path

from hone.core.script import reported
from hone.methods.astra.stages import extract
from hone.records import Language

with reported(snakemake.log, snakemake.output):
    extract(
        Path(snakemake.input.answers),
        snakemake.params.experiment["method"],
        Language(snakemake.params.experiment["language"]),
        [Path(path) for path in snakemake.input.definitions],
        attempts=Path(snakemake.output.attempts),
        candidates=Path(snakemake.output.candidates),
        solutions=Path(snakemake.output.solutions),
    )
