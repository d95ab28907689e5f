"""Verdicts and times of a batch's solutions."""

from pathlib import Path

from hone.core.script import reported
from hone.records import Protocol
from hone.solutions.stages import judge

with reported(snakemake.log, snakemake.output):
    judge(
        Path(snakemake.input.solutions),
        Path(snakemake.input.builds),
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        protocol=Protocol.model_validate(snakemake.params.protocol),
        baselines=snakemake.params.baselines,
        store=Path(snakemake.params.store),
        output=Path(snakemake.output[0]),
    )
