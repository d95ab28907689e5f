"""Which version of a kernel won its rounds: one choice, for tables and for the rule that has it evaluated.

A module of its own: no rule that makes prompts runs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hone.build.kernels import kernel_solution
from hone.files import read_all, write_records
from hone.methods.astra.history import Attempt, History, Version, histories
from hone.methods.astra.stages import Before
from hone.records import Build, Definition, Solution, Trace, Workload
from hone.sources.workloads import group


def latest(traces: Iterable[Trace]) -> dict[tuple[str, str], Trace]:
    """(solution, workload) -> its trace: a verdict comes before none, then the latest."""
    best: dict[tuple[str, str], Trace] = {}
    for trace in traces:
        key = (trace.solution, trace.workload)
        old = best.get(key)
        if old is None or (old.status.resolved, old.judged_at) < (trace.status.resolved, trace.judged_at):
            best[key] = trace
    return best


def winner_of(history: History) -> Version | None:
    """The fastest written version by the suite; of equal ones the first. None where none passed its suite."""
    written = [version for version in history.versions if version.turn > 0 and version.solution is not None]
    timed = [version for version in written if history.speedup(version) is not None]
    return max(timed, key=lambda version: history.speedup(version) or 0.0, default=None)


def reported(history: History) -> dict[str, Version]:
    """Solution's id -> version, of those that reports speak of: the existing kernel, and the winner if any."""
    found = (history.versions[0], winner_of(history))
    return {item.solution.id: item for item in found if item is not None and item.solution is not None}


def choose(rounds: Before, definitions: Iterable[Path], *, solutions: Path, builds: Path) -> None:
    """Of a batch whose rounds are over write the reported versions' solutions, by id, and the builds that they need.

    These are their own and those of the definitions' existing kernels, which they are compared with.
    """
    defined, compiled = read_all(definitions, Definition), read_all(rounds.builds, Build)
    known = histories(
        defined,
        group(read_all([rounds.suites], Workload)),
        read_all(rounds.attempts, Attempt),
        read_all(rounds.solutions, Solution),
        compiled,
        latest(read_all(rounds.traces, Trace)).values(),
    )
    chosen = {key: version for history in known.values() for key, version in reported(history).items()}
    existing = {kernel_solution(item, name).id for item in defined for name in item.kernels}
    by_solution = {item.solution: item for item in compiled}
    write_records(solutions, [found for key in sorted(chosen) if (found := chosen[key].solution) is not None])
    write_records(builds, [by_solution[key] for key in sorted({*chosen, *existing}) if key in by_solution])
