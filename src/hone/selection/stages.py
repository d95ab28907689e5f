"""The selection: for each operator of training loops and each kind of machine the fastest solution that passed.

Two files come of it. The Selection holds what trainings run, and nothing that changes when the same choice is made
again; times and reasons stand in a file of their own, for tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import geometric_mean

from hone.config.settings import UPSTREAM
from hone.core.errors import RecordError
from hone.core.files import read_all, write_records, write_text
from hone.records import (
    Build,
    Definition,
    Language,
    SelectedKernel,
    Selection,
    SelectionReason,
    Solution,
    Status,
    Trace,
    Workload,
)
from hone.selection.rank import LEAST_LEAD, best_solution
from hone.sources.workloads import group, moved_bytes

BASELINE = UPSTREAM
"""Of an operator's existing kernels the one that training loops run: the builtin."""
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
) -> None:
    """Write an operator's Selection, and its SelectionReason for each kind of machine that judged a solution of it.

    `operator` is the definition's title, and the files may speak of others, too. Raises RecordError when there is no
    such definition.
    """
    found = [item for item in read_all(definitions, Definition) if item.title == operator]
    if len(found) != 1:
        raise RecordError(f"{len(found)} definitions are called '{operator}'", where=str(output))
    (item,) = found
    sized = group(read_all(workloads, Workload)).get(item.name, [])
    kernels = [solution for solution in read_all(solutions, Solution) if solution.definition == item.name]
    judged = [trace for trace in read_all(traces, Trace) if trace.definition == item.name]
    compiled = {build.solution: build for build in read_all(builds, Build)}
    places = sorted({trace.environment.device for trace in judged}) or [""]
    why = [_selection_reason(item, sized, kernels, judged, where) for where in places]
    known = {solution.id: solution for solution in kernels}
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


def verification_workloads(item: Definition, workloads: Sequence[Workload]) -> tuple[Workload, ...]:
    """The smallest of each data type, and further small ones up to VERIFIED; held-out ones are as good as others."""
    ordered = sorted(workloads, key=lambda workload: (moved_bytes(item, workload), workload.name))
    first = list({workload.dtype: workload for workload in reversed(ordered)}.values())
    rest = [workload for workload in ordered if workload not in first]
    return tuple([*first, *rest][: max(VERIFIED, len(first))])


def _selection_reason(
    item: Definition, workloads: Sequence[Workload], solutions: Sequence[Solution], traces: Sequence[Trace], where: str
) -> SelectionReason:
    """The choice on one kind of machine."""
    here = [trace for trace in traces if trace.environment.device == where]
    written = [solution for solution in solutions if solution.source != item.kernels.get(BASELINE)]
    winner = best_solution(item, workloads, written, here, BASELINE)
    common = {"operator": item.title, "definition": item.name, "where": where}
    if winner is None:
        return SelectionReason(**common, used="builtin", reason=_nothing_passed(written, here))
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


def _selected(where: str, solution: Solution, builds: dict[str, Build]) -> SelectedKernel:
    build = builds.get(solution.id)
    if build is None or build.artifact is None:
        raise RecordError("has verdicts, and no shared object", where=f"solution {solution.id[:12]}")
    return SelectedKernel(where=where, solution=solution, artifact=build.artifact, target=build.target)
