"""The single agent's prompts of a turn of a batch."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.methods.astra.stages import EarlierTurns, converse

with reported(snakemake.log, snakemake.output):
    converse(
        snakemake.wildcards.experiment,
        Experiment.model_validate(snakemake.params.experiment),
        int(snakemake.wildcards.turn),
        EarlierTurns.of(snakemake.input),
        prompts=Path(snakemake.input.prompts),
        answers=Path(snakemake.input.answers),
        definitions=[Path(path) for path in snakemake.input.definitions],
        workloads=[Path(path) for path in snakemake.input.workloads],
        output=Path(snakemake.output[0]),
    )
