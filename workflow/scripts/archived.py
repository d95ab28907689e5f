"""The published answers to a batch's problems."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.stages import archived

with reported(snakemake.log, snakemake.output):
    archived(
        snakemake.wildcards.experiment,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        [Path(path) for path in snakemake.input.definitions],
        Path(snakemake.input.answers),
        candidates=Path(snakemake.output.candidates),
        solutions=Path(snakemake.output.solutions),
        claims=Path(snakemake.output.claims),
        skipped=Path(snakemake.output.skipped),
    )
