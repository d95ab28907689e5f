"""Before a kernel is selected: what compute-sanitizer says of the fastest, and of the next where it objects."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from hone.core.errors import MachineError
from hone.core.files import write_records
from hone.records import SanitizerVerdict
from hone.sanitizer.run import sanitizer_verdicts, version_of
from hone.sanitizer.tool import TOOLS, find_program
from hone.selection.rank import LEAST_LEAD, Winner
from hone.selection.stages import Given, objections_of


def sanitize(
    operator: str, definitions: Iterable[Path], workloads: Iterable[Path], solutions: Iterable[Path],
    traces: Iterable[Path], builds: Iterable[Path], *, store: Path, where: str, output: Path,
) -> None:  # fmt: skip
    """Write a verdict of each tool on the kernel that would be selected, down to the first that none objects to.

    `where` is the model name of this machine's GPU; only kernels that were judged on one like it are watched. Without
    compute-sanitizer the verdicts are unknown, which a warning says. Raises RecordError as `select` does.
    """
    given = Given.read(operator, definitions, workloads, solutions, traces, builds, where=output)
    found: list[SanitizerVerdict] = []
    while (winner := given.winner(where, objections_of(found))) is not None and winner.lead >= LEAST_LEAD:
        known = len(found)
        found += _verdicts(given, winner, store, where)
        if not objections_of(found[known:]):
            break
    write_records(output, found)


def _verdicts(given: Given, winner: Winner, store: Path, where: str) -> list[SanitizerVerdict]:
    try:
        program = find_program()
    except MachineError as error:
        sys.stderr.write(f"warning: {given.definition.title}: selected without compute-sanitizer: {error.problem}\n")
        common = {"definition": given.definition.name, "solution": winner.solution.id, "where": where}
        return [SanitizerVerdict(**common, tool=tool, status="unknown", detail=error.problem) for tool in TOOLS]
    build = given.builds[winner.solution.id]
    return list(
        sanitizer_verdicts(
            program, version_of(program), given.definition, winner.solution, build, given.workloads, store=store,
            where=where,
        )
    )  # fmt: skip
