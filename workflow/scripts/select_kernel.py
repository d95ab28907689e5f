"""The kernel that trainings run for one operator, and why."""

from pathlib import Path

from hone.core.script import reported
from hone.selection.stages import select

with reported(snakemake.log, snakemake.output):
    given = snakemake.input
    select(
        snakemake.wildcards.operator,
        [Path(given.definitions)],
        [Path(given.workloads)],
        map(Path, given.solutions),
        map(Path, [*given.traces, *given.evaluations]),
        map(Path, given.builds),
        output=Path(snakemake.output.selection),
        reasons=Path(snakemake.output.reasons),
        sanitized=map(Path, given.sanitized),
    )
