"""The solutions of a folder that belong to a batch."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.stages import files

with reported(snakemake.log, snakemake.output):
    files(
        snakemake.wildcards.experiment,
        snakemake.params.model,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        [Path(path) for path in snakemake.input.definitions],
        candidates=Path(snakemake.output.candidates),
        solutions=Path(snakemake.output.solutions),
    )
