"""Which version of a kernel won its rounds: one choice, for tables and for the rule that has it evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hone.compile.kernels import kernel_solution
from hone.core.files import read_all, write_records
from hone.methods.astra.history import Attempt, History, Version, histories
from hone.methods.astra.stages import EarlierTurns
from hone.records import Build, Definition, Solution, Trace, Workload
from hone.selection.rank import fastest, latest
from hone.sources.workloads import group


def winner_of(history: History) -> Version | None:
    """The fastest written version by the suite; None where none passed its suite."""
    return fastest((version for version in history.versions if version.turn > 0), history.speedup)


def reported(history: History) -> dict[str, Version]:
    """Solution's id -> version, of those that reports speak of: the existing kernel, and the winner if any."""
    found = (history.versions[0], winner_of(history))
    return {item.solution.id: item for item in found if item is not None and item.solution is not None}


def write_winners(rounds: EarlierTurns, definitions: Iterable[Path], *, solutions: Path, builds: Path) -> None:
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
