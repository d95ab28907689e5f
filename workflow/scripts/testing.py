"""Prompts for a batch's test suites."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.astra.stages import ask_testing

with reported(snakemake.log, snakemake.output):
    ask_testing(
        snakemake.wildcards.experiment,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        Path(snakemake.output[0]),
    )
