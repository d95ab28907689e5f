"""What compute-sanitizer says of the kernel that would be selected for one operator."""

from pathlib import Path

from hone.core.script import reported
from hone.machine.gpus import visible_gpus
from hone.selection.sanitize import sanitize

with reported(snakemake.log, snakemake.output):
    given = snakemake.input
    sanitize(
        snakemake.wildcards.operator,
        [Path(given.definitions)],
        [Path(given.workloads)],
        map(Path, given.solutions),
        map(Path, [*given.traces, *given.evaluations]),
        map(Path, given.builds),
        store=Path(snakemake.params.store),
        where=visible_gpus()[0].name,
        output=Path(snakemake.output[0]),
    )
