"""One role's prompts of a turn of a batch."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.astra.stages import EarlierTurns, ask_role, told_files

with reported(snakemake.log, snakemake.output):
    role, experiment = snakemake.wildcards.role, Experiment.model_validate(snakemake.params.experiment)
    ask_role(
        role,
        snakemake.wildcards.experiment,
        experiment,
        int(snakemake.wildcards.turn),
        EarlierTurns.of(snakemake.input),
        told_files(experiment.method, role, snakemake.input),
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        Path(snakemake.output[0]),
    )
