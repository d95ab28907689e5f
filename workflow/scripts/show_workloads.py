"""The workloads that prompts may speak of."""

from pathlib import Path

from hone.core.script import reported
from hone.sources.stages import show_workloads

with reported(snakemake.log, snakemake.output):
    show_workloads(Path(snakemake.input[0]), Path(snakemake.output[0]))
