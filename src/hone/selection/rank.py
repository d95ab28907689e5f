"""The ranking: which of several kernels for one definition has won. Reports, operators and trainings all ask here.

- A kernel takes part if it passed every workload, held-out ones included, each with a time that nothing makes doubtful.
- Its speedup is the geometric mean over the workloads that a prompt may show. To rank by the held-out ones would be to
  choose on the examination.
- The fastest wins; of equal ones the first.
- A winner that replaces something that works must lead by more than the clock's noise.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hone.config.experiments import UPSTREAM
from hone.records import Definition, Language, Performance, Solution, Trace, Workload

NATIVE = (Language.CUDA, Language.CPP)
LEAST_LEAD = 1.05
"""A kernel that is not so many times as fast as the one in use is taken for noise of the clock."""

Candidate = TypeVar("Candidate")


def latest(traces: Iterable[Trace]) -> dict[tuple[str, str], Trace]:
    """(solution, workload) -> its trace: a verdict comes before none, then the latest."""
    best: dict[tuple[str, str], Trace] = {}
    for trace in traces:
        key = (trace.solution, trace.workload)
        old = best.get(key)
        if old is None or (old.status.resolved, old.judged_at) < (trace.status.resolved, trace.judged_at):
            best[key] = trace
    return best


def credited_speedup(trace: Trace | None, baseline: str = UPSTREAM) -> float | None:
    """Over a baseline; None unless the kernel passed with a time beyond doubt and the baseline was timed beside it."""
    if trace is None or trace.performance is None:
        return None
    time = trace.performance
    return None if time.findings or baseline not in time.baselines else time.speedup(baseline)


def mean_speedup(
    verdicts: Mapping[str, Trace], workloads: Sequence[Workload], baseline: str = UPSTREAM
) -> float | None:
    """Geometric mean over those workloads that are not held out; `verdicts` go by the workload's id.

    None where a workload, held out or not, has no credited speedup, and where none may be shown.
    """
    speedups = [credited_speedup(verdicts.get(item.id), baseline) for item in workloads]
    passed = [value for value in speedups if value is not None]
    if len(passed) < len(workloads):
        return None
    shown = [value for value, item in zip(passed, workloads, strict=True) if not item.held_out]
    return statistics.geometric_mean(shown) if shown else None


def fastest(candidates: Iterable[Candidate], speedup: Callable[[Candidate], float | None]) -> Candidate | None:
    """The candidate with the largest speedup, of equal ones the first; None where none has a speedup."""
    ranked = [(value, item) for item in candidates if (value := speedup(item)) is not None]
    return max(ranked, key=lambda pair: pair[0])[1] if ranked else None


@dataclass(frozen=True)
class Winner:
    """The fastest solution of a definition."""

    solution: Solution
    times: tuple[Performance, ...]
    """On the workloads that a prompt may show."""
    baseline: str

    @property
    def speedup(self) -> float:
        """Over the baseline: geometric mean over the workloads."""
        return statistics.geometric_mean(self._speedups)

    @property
    def lead(self) -> float:
        """How many times as fast it counts as: over all workloads, and on most of them.

        The smaller of geometric mean and median, so that one disturbed measurement makes no winner.
        """
        return min(self.speedup, statistics.median(self._speedups))

    @property
    def _speedups(self) -> list[float]:
        return [time.speedup(self.baseline) for time in self.times]


def best_solution(
    definition: Definition,
    workloads: Sequence[Workload],
    solutions: Iterable[Solution],
    traces: Iterable[Trace],
    baseline: str = UPSTREAM,
) -> Winner | None:
    """The fastest native solution of a definition; None where none takes part.

    `workloads`: all of the definition. Of equal solutions the one with the first id wins, whatever the files' order.
    """
    verdicts: dict[str, dict[str, Trace]] = {}
    for (solution, workload), trace in latest(traces).items():
        verdicts.setdefault(solution, {})[workload] = trace
    own = {item.id: item for item in solutions if item.definition == definition.name and item.language in NATIVE}
    winner = fastest(sorted(own), lambda key: mean_speedup(verdicts.get(key, {}), workloads, baseline))
    if winner is None:
        return None
    shown = [verdicts[winner][item.id].performance for item in workloads if not item.held_out]
    return Winner(own[winner], tuple(time for time in shown if time is not None), baseline)
