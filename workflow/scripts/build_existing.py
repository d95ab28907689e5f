"""Shared objects of a source's existing kernels."""

from pathlib import Path

from hone.compile.slots import compilers_at_a_time
from hone.core.script import reported
from hone.machine.hardware import GPU
from hone.solutions.stages import build_existing

with reported(snakemake.log, snakemake.output):
    gpu = snakemake.params.gpu
    build_existing(
        Path(snakemake.input[0]),
        store=Path(snakemake.params.store),
        timeout_s=snakemake.params.timeout_s,
        workers=compilers_at_a_time(),
        gpu=GPU.model_validate(gpu) if gpu else None,
        output=Path(snakemake.output[0]),
    )
