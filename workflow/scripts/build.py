"""Shared objects of a batch's solutions."""

from pathlib import Path

from hone.compile.slots import compilers_at_a_time
from hone.core.script import reported
from hone.machine.hardware import GPU
from hone.solutions.stages import build

with reported(snakemake.log, snakemake.output):
    gpu = snakemake.params.gpu
    build(
        Path(snakemake.input.solutions),
        [Path(path) for path in snakemake.input.definitions],
        store=Path(snakemake.params.store),
        timeout_s=snakemake.params.timeout_s,
        workers=compilers_at_a_time(),
        device=snakemake.params.device,
        gpu=GPU.model_validate(gpu) if gpu else None,
        output=Path(snakemake.output[0]),
    )
