"""One role's prompts of a turn of a batch."""

from pathlib import Path

from hone.config.settings import Experiment
from hone.methods.astra.stages import AnswerFiles, EarlierTurns, ask_role
from hone.script import reported

with reported(snakemake.log, snakemake.output):
    ask_role(
        snakemake.wildcards.role,
        snakemake.wildcards.experiment,
        Experiment.model_validate(snakemake.params.experiment),
        int(snakemake.wildcards.turn),
        EarlierTurns.of(snakemake.input),
        AnswerFiles.of(snakemake.input),
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        Path(snakemake.output[0]),
    )
