"""Prompts of a later turn of a batch."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.stages import render_next

with reported(snakemake.log, snakemake.output):
    render_next(
        snakemake.wildcards.experiment,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        turn=int(snakemake.wildcards.turn),
        candidates=Path(snakemake.input.candidates),
        solutions=Path(snakemake.input.solutions),
        builds=Path(snakemake.input.builds),
        traces=Path(snakemake.input.traces),
        earlier=[Path(path) for path in snakemake.input.earlier],
        output=Path(snakemake.output[0]),
    )
