"""First prompts of a batch."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.stages import render

with reported(snakemake.log, snakemake.output):
    render(
        snakemake.wildcards.experiment,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        Path(snakemake.output[0]),
    )
