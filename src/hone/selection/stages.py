"""The selection: for each operator of training loops and each kind of machine the fastest solution that passed.

Two files come of it. The Selection holds what trainings run, and nothing that changes when the same choice is made
again; times and reasons stand in a file of their own, for tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Self

from hone.config.experiments import UPSTREAM
from hone.core.errors import RecordError
from hone.core.files import read_all, write_records, write_text
from hone.records import (
    Build,
    Definition,
    Language,
    SanitizerVerdict,
    SelectedKernel,
    Selection,
    SelectionReason,
    Solution,
    Status,
    Trace,
    Workload,
)
from hone.selection.rank import LEAST_LEAD, Winner, best_solution
from hone.sources.workloads import group, moved_bytes

BASELINE = UPSTREAM
"""Of an operator's existing kernels the one that training loops run: the builtin."""
OBJECTED = "compute-sanitizer objects to every solution that passed"
VERIFIED = 3
"""Workloads on which a training compares a kernel with the reference."""


def select(
    operator: str,
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    solutions: Iterable[Path],
    traces: Iterable[Path],
    builds: Iterable[Path],
    *,
    output: Path,
    reasons: Path,
    sanitized: Iterable[Path] = (),
) -> None:
    """Write an operator's Selection, and its SelectionReason for each kind of machine that judged a solution of it.

    `operator` is the definition's title, and the files may speak of others, too. `sanitized`: verdicts of
    compute-sanitizer; a solution that it objects to is not taken. Raises RecordError when there is no such definition.
    """
    given = Given.read(operator, definitions, workloads, solutions, traces, builds, where=output)
    item, sized, compiled = given.definition, given.workloads, given.builds
    objections = objections_of(read_all(sanitized, SanitizerVerdict))
    why = [_selection_reason(given, where, objections) for where in given.places or [""]]
    known = {solution.id: solution for solution in given.solutions}
    chosen = tuple(
        _selected(reason.where, known[reason.solution], compiled) for reason in why if reason.used == "selected"
    )
    selection = Selection(
        operator=operator, runs_on="cuda" if item.kernel_language is Language.CUDA else "cpu",
        definition=item if chosen else None, kernels=chosen,
        workloads=verification_workloads(item, sized) if chosen else (),
    )  # fmt: skip
    write_text(output, selection.model_dump_json() + "\n")
    write_records(reasons, why)


@dataclass(frozen=True)
class Given:
    """What a selection is made from: the records of one operator."""

    definition: Definition
    workloads: Sequence[Workload]
    solutions: Sequence[Solution]
    traces: Sequence[Trace]
    builds: Mapping[str, Build]
    """By solution, those of others included."""

    @classmethod
    def read(
        cls, operator: str, definitions: Iterable[Path], workloads: Iterable[Path], solutions: Iterable[Path],
        traces: Iterable[Path], builds: Iterable[Path], *, where: Path,
    ) -> Self:  # fmt: skip
        """Those of the definition with this title; raises RecordError, which names `where`, unless there is one."""
        found = [item for item in read_all(definitions, Definition) if item.title == operator]
        if len(found) != 1:
            raise RecordError(f"{len(found)} definitions are called '{operator}'", where=str(where))
        (item,) = found
        return cls(
            item,
            group(read_all(workloads, Workload)).get(item.name, []),
            [solution for solution in read_all(solutions, Solution) if solution.definition == item.name],
            [trace for trace in read_all(traces, Trace) if trace.definition == item.name],
            {build.solution: build for build in read_all(builds, Build)},
        )

    @property
    def places(self) -> list[str]:
        """Kinds of machines that judged a solution."""
        return sorted({trace.environment.device for trace in self.traces})

    @property
    def written(self) -> list[Solution]:
        """All but the builtin."""
        return [item for item in self.solutions if item.source != self.definition.kernels.get(BASELINE)]

    def here(self, where: str) -> list[Trace]:
        """Verdicts of one kind of machine."""
        return [trace for trace in self.traces if trace.environment.device == where]

    def winner(self, where: str, without: Collection[str] = ()) -> Winner | None:
        """The fastest solution on one kind of machine; `without`: ids that must not be taken."""
        allowed = [item for item in self.written if item.id not in without]
        return best_solution(self.definition, self.workloads, allowed, self.here(where), BASELINE)


def objections_of(verdicts: Iterable[SanitizerVerdict]) -> dict[str, str]:
    """Solution that compute-sanitizer objects to -> the first tool that does, and what it found."""
    found: dict[str, str] = {}
    for item in verdicts:
        if item.status == "objects":
            found.setdefault(item.solution, f"{item.tool}: {item.detail}")
    return found


def verification_workloads(item: Definition, workloads: Sequence[Workload]) -> tuple[Workload, ...]:
    """The smallest of each data type, and further small ones up to VERIFIED; held-out ones are as good as others."""
    ordered = sorted(workloads, key=lambda workload: (moved_bytes(item, workload), workload.name))
    first = list({workload.dtype: workload for workload in reversed(ordered)}.values())
    rest = [workload for workload in ordered if workload not in first]
    return tuple([*first, *rest][: max(VERIFIED, len(first))])


def _selection_reason(given: Given, where: str, objections: Mapping[str, str]) -> SelectionReason:
    """The choice on one kind of machine."""
    item, here = given.definition, given.here(where)
    known = {trace.solution for trace in here}
    objected = {key: said for key, said in objections.items() if key in known}
    winner = given.winner(where, objected)
    common: dict[str, Any] = {
        "operator": item.title, "definition": item.name, "where": where,
        "objections": tuple(f"{key[:12]}: {said}" for key, said in sorted(objected.items())),
    }  # fmt: skip
    if winner is None:
        reason = OBJECTED if objected else _nothing_passed(given.written, here)
        return SelectionReason(**common, used="builtin", reason=reason)
    figures = {
        "solution": winner.solution.id, "workloads": len(winner.times),
        "baseline_us": 1e3 * geometric_mean(time.baselines[BASELINE].latency_ms for time in winner.times),
        "selected_us": 1e3 * geometric_mean(time.solution.latency_ms for time in winner.times),
    }  # fmt: skip
    if winner.lead < LEAST_LEAD:
        reason = f"the fastest solution that passed is {winner.lead:.3f} times as fast, and {LEAST_LEAD} are asked for"
        return SelectionReason(**common, **figures, used="builtin", reason=reason)
    return SelectionReason(**common, **figures, used="selected", reason="")


def _nothing_passed(written: Sequence[Solution], traces: Sequence[Trace]) -> str:
    """Why there is nothing to choose from."""
    ids = {solution.id for solution in written}
    if not ids:
        return "no experiment wrote a solution"
    judged = [trace for trace in traces if trace.solution in ids]
    if not judged:
        return "no solution was judged"
    passed = {trace.solution for trace in judged if trace.status is Status.PASSED}
    if not passed:
        return f"none of {len(ids)} solutions passed"
    return f"none of {len(ids)} solutions passed all workloads with a sound time"


def _selected(where: str, solution: Solution, builds: Mapping[str, Build]) -> SelectedKernel:
    build = builds.get(solution.id)
    if build is None or build.artifact is None:
        raise RecordError("has verdicts, and no shared object", where=f"solution {solution.id[:12]}")
    return SelectedKernel(where=where, solution=solution, artifact=build.artifact, target=build.target)
