"""Shared objects of a batch's solutions."""

from pathlib import Path

from hone.build.slots import compilers_at_a_time
from hone.kernel_stages import build
from hone.script import reported

with reported(snakemake.log, snakemake.output):
    build(
        Path(snakemake.input.solutions),
        [Path(path) for path in snakemake.input.definitions],
        store=Path(snakemake.params.store),
        timeout_s=snakemake.params.timeout_s,
        workers=compilers_at_a_time(),
        device=snakemake.params.device,
        output=Path(snakemake.output[0]),
    )
