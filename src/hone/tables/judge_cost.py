"""judge_cost: seconds of each phase of each verdict, and of each build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hone.analysis.provenance import Provenance, of_trace, on_gpu
from hone.records import WAITING, Build, Trace
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

BUILD = "build"


class Row(TableRow):
    """One phase of one verdict, or one build."""

    definition: str
    """Name of the problem; empty of a build without a verdict."""
    solution: columns.SolutionDigest
    phase: str
    """Part of the judge's work, or `build`."""
    seconds: float = EMPTY
    """Wall seconds."""
    where: str
    """`cpu`, `gpu`, or `waiting` for other judges of the GPU."""
    status: str = ""
    """Verdict, or what became of the build."""


def rows(run: Run) -> list[Row]:
    """Whatever phases a verdict has; a verdict that came twice counts once.

    They were spent where the solution ran; a build is always the CPU's.
    """
    known = run.records
    provenance = run.context.provenance
    traces = {
        trace.model_dump_json(): trace for trace in [*known.traces, *known.suite_traces, *known.evaluations]
    }.values()
    definition_of = {trace.solution: trace.definition for trace in traces}
    found = [row for trace in traces for row in _phases(trace, provenance)]
    for build in {build.solution: build for build in known.builds}.values():
        found.append(_build(build, definition_of.get(build.solution, ""), provenance))
    return sorted(found, key=lambda row: (row.definition, row.solution))


def _phases(trace: Trace, provenance: Provenance) -> Iterable[Row]:
    shared = provenance.columns(of_trace(trace))
    for phase, seconds in trace.phase_s.items():
        yield Row(
            definition=trace.definition,
            solution=trace.solution,
            phase=phase,
            seconds=seconds,
            where=_where(phase, trace),
            status=str(trace.status),
            **shared,
        )


def _where(phase: str, trace: Trace) -> str:
    if phase == WAITING:
        return WAITING
    return "gpu" if on_gpu(trace) else "cpu"


def _build(build: Build, definition: str, provenance: Provenance) -> Row:
    return Row(
        definition=definition,
        solution=build.solution,
        phase=BUILD,
        seconds=build.seconds,
        where="cpu",
        status=str(build.status),
        **provenance.columns(),
    )


def finding(rows: Sequence[Row]) -> str:
    """Seconds by what they were spent on."""
    builds = sum(row.seconds for row in rows if row.phase == BUILD)
    verdicts = sum(row.seconds for row in rows if row.phase not in (BUILD, WAITING))
    gpu = sum(row.seconds for row in rows if row.where == "gpu")
    solutions = plural(len({row.solution for row in rows}), "solution")
    held = f", {gpu:.0f} s of it on a GPU" if gpu else ", all of it on the CPU"
    return f"{solutions} took {builds:.0f} s to build and {verdicts:.0f} s to judge{held}."


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each solution and phase: the seconds of all its workloads together."""
    keys = ["definition", "solution", "phase", "where", "status"]
    return table.groupby(keys, sort=False)["seconds"].sum().reset_index()


def figure(table: pd.DataFrame) -> Drawn:
    """Seconds by phase, where they were spent."""
    from hone.analysis.cost_figures import judge_cost_figure

    return judge_cost_figure(table)


TABLE = RunTable(
    name="judge_cost",
    title="Seconds spent on builds and verdicts",
    caption=(
        "Seconds that builds and verdicts took, by phase, and whether they were spent on a CPU or while a GPU was "
        "held. The page adds up a solution's workloads."
    ),
    category="Cost",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout,
    shown={
        "definition": "Problem",
        "solution": "Solution",
        "phase": "Phase",
        "seconds": "Seconds",
        "where": "Where",
        "status": "Status",
    },
    figures=(Figure("judge_cost", "Time spent on builds and verdicts", figure),),
)
