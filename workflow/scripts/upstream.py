"""Turn 0 of a batch: the existing kernels."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.astra.stages import upstream

with reported(snakemake.log, snakemake.output):
    upstream(
        snakemake.wildcards.experiment,
        snakemake.params.model,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        [Path(path) for path in snakemake.input.definitions],
        attempts=Path(snakemake.output.attempts),
        candidates=Path(snakemake.output.candidates),
        solutions=Path(snakemake.output.solutions),
    )
