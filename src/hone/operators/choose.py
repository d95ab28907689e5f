"""Which kernels become operators: the existing ones of each definition, and the best of those that were written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from hone.analysis.metrics import geometric_mean
from hone.build.kernels import kernel_solution
from hone.records import Build, Definition, Language, Solution, Status, Trace, Workload
from hone.records.base import Versioned

KernelSet = Literal["upstream", "current", "winner"]
NATIVE = (Language.CUDA, Language.CPP)


class KernelChoice(Versioned):
    """A kernel that takes part in post-processing, with all that is needed to load it."""

    kernel_set: KernelSet
    """`upstream` and `current`: existing kernels; `winner`: the best of the solutions."""
    solution: Solution
    build: Build
    speedup: float | None = None
    """Of a winner over upstream: geometric mean over the workloads that a prompt may show."""


def best_solution(
    definition: Definition,
    workloads: Sequence[Workload],
    solutions: Iterable[Solution],
    traces: Iterable[Trace],
    baseline: str = "upstream",
) -> tuple[Solution, float] | None:
    """The fastest native solution and its speedup; None where none qualifies.

    It has to pass every workload, held-out ones included, with a time that nothing makes doubtful. Among those the
    order is by the workloads that are not held out: choosing by the others would be choosing on the examination.
    """
    by_place = {(trace.solution, trace.workload): trace for trace in traces if trace.definition == definition.name}
    ranked = []
    for solution in {item.id: item for item in solutions}.values():
        if solution.definition != definition.name or solution.language not in NATIVE:
            continue
        found = [by_place.get((solution.id, workload.id)) for workload in workloads]
        speedups = [_speedup(trace, baseline) for trace in found]
        shown = [value for value, workload in zip(speedups, workloads, strict=True) if not workload.held_out]
        if shown and all(speedups):
            ranked.append((geometric_mean([value for value in shown if value]), solution.id, solution))
    if not ranked:
        return None
    speedup, _, solution = max(ranked, key=lambda item: item[:2])
    return solution, speedup


def kernels_of(
    definitions: Iterable[Definition],
    workloads: Mapping[str, Sequence[Workload]],
    solutions: Sequence[Solution],
    traces: Sequence[Trace],
) -> list[tuple[KernelSet, Solution, float | None]]:
    """For each definition with existing kernels: these, then its winner where there is one."""
    found: list[tuple[KernelSet, Solution, float | None]] = []
    for definition in definitions:
        names: tuple[KernelSet, ...] = ("upstream", "current")
        found += [(name, kernel_solution(definition, name), None) for name in names if name in definition.kernels]
        best = best_solution(definition, workloads.get(definition.name, ()), solutions, traces)
        if definition.kernels and best is not None:
            found.append(("winner", *best))
    return found


def _speedup(trace: Trace | None, baseline: str) -> float | None:
    """None unless the kernel passed with a sound time and the baseline was timed beside it."""
    if trace is None or trace.status is not Status.PASSED or trace.performance is None:
        return None
    performance = trace.performance
    return None if performance.findings or baseline not in performance.baselines else performance.speedup(baseline)
