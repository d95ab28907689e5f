"""astra_shapes: the winning kernels on every workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hone.analysis.astra import US_PER_MS, Astra, Outcome, paper_shape
from hone.analysis.context import Cells
from hone.config.experiments import UPSTREAM
from hone.records import Status, Trace, Workload
from hone.sources.workloads import moved_bytes
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One winner on one workload against one baseline."""

    kernel: str
    """Title of its definition."""
    method: columns.Method
    workload: str
    """Name of the workload."""
    dtype: str
    """Data type of the workload."""
    held_out: bool
    """The workload was shown in no prompt."""
    bytes: int
    """Inputs and outputs once each, what is written in place twice: the least that can be moved."""
    baseline: columns.Baseline
    baseline_us: float = EMPTY
    """Median time of the baseline in us."""
    optimised_us: float = EMPTY
    """Median time of the winner in us."""
    speedup: columns.Speedup = EMPTY
    bandwidth_share: float = EMPTY
    """floor_us over optimised_us: 1 is the speed of a plain copy."""
    floor_us: float = EMPTY
    """The least time that the GPU can need for these bytes, in microseconds."""
    floor_source: str = ""
    """What floor_us was computed with."""
    sizes: str = ""
    """Axes of the workload."""
    paper_shape: bool
    """The paper measured the kernel at these sizes in this data type."""
    published: columns.PublishedSpeedup = EMPTY
    published_source: columns.PublishedSource = ""
    status: columns.Verdict = ""
    correct: str = ""
    """Whether the winner is right on all workloads: yes, no, unknown (no verdict)."""
    findings: columns.Findings = ""
    experiment: columns.Experiment = ""
    model: columns.LanguageModel = ""
    solution: columns.SolutionDigest = ""


def rows(run: Run) -> list[Row]:
    """Every winner on every workload, once for each baseline; failed workloads have no times."""
    return [row for outcome in run.astra.outcomes for row in _rows(run.astra, outcome)]


def _rows(astra: Astra, outcome: Outcome) -> Iterator[Row]:
    trajectory = outcome.trajectory
    if trajectory.winner is None or trajectory.winner.solution is None or trajectory.definition is None:
        return
    for workload, trace in outcome.verdicts.pairs:
        shared = {
            **outcome.place,
            **astra.provenance([trace] if trace else []),
            "kernel": trajectory.kernel,
            "workload": workload.name,
            "sizes": ", ".join(f"{axis}={size}" for axis, size in workload.axes.items()),
            "dtype": workload.dtype,
            "held_out": workload.held_out,
            "paper_shape": astra.is_published(outcome, workload),
            "bytes": moved_bytes(trajectory.definition, workload),
            "correct": outcome.correct,
            "status": str(trace.status) if trace else "missing",
            "findings": "; ".join(trace.performance.findings) if trace and trace.performance else "",
            "solution": trajectory.winner.solution.id,
        }
        for baseline in _baselines(astra, outcome, trace):
            timed = _timed(outcome, workload, trace, baseline)
            published = _published(astra, outcome, workload) if baseline == UPSTREAM else {}
            yield Row.pick(shared | timed | published, baseline=baseline)


def _baselines(astra: Astra, outcome: Outcome, trace: Trace | None) -> Iterator[str]:
    """Those that the definition has, or that the verdict has times of."""
    performance = trace.performance if trace else None
    known = outcome.trajectory.definition.kernels if outcome.trajectory.definition else {}
    for baseline in astra.context.settings.baselines:
        if baseline in known or (performance is not None and baseline in performance.baselines):
            yield baseline


def _timed(outcome: Outcome, workload: Workload, trace: Trace | None, baseline: str) -> Cells:
    """Times of both sides, and the least possible one; nothing where the baseline was not timed."""
    performance = trace.performance if trace else None
    if trace is None or performance is None or baseline not in performance.baselines:
        return {}
    assert outcome.trajectory.definition is not None
    floor = outcome.bandwidths.floor(moved_bytes(outcome.trajectory.definition, workload), trace)
    return {
        "baseline_us": performance.baselines[baseline].latency_ms * US_PER_MS,
        "optimised_us": performance.solution.latency_ms * US_PER_MS,
        "speedup": performance.speedup(baseline),
        "bandwidth_share": outcome.share(workload, trace, performance),
        "floor_us": floor.us,
        "floor_source": floor.source,
    }


def _published(astra: Astra, outcome: Outcome, workload: Workload) -> Cells:
    shape, trajectory = paper_shape(workload), outcome.trajectory
    return astra.published(trajectory.experiment, trajectory.kernel, workload=shape) if shape else {}


def finding(rows: Sequence[Row]) -> str:
    """On how many workloads winners are faster than the existing kernel, held-out ones apart."""
    timed = [row for row in rows if row.baseline == UPSTREAM and row.status == Status.PASSED]
    said = []
    for name, held_out in (("workloads that prompts showed", False), ("held-out workloads", True)):
        own = [row for row in timed if row.held_out is held_out]
        if own:
            said.append(of(sum(row.speedup > 1 for row in own), len(own), name))
    return f"Winners are faster than the existing kernel on {' and on '.join(said)}." if said else ""


def figure(table: pd.DataFrame) -> Drawn:
    """Speedup and share of the bandwidth by bytes moved."""
    from hone.analysis.astra_figures import shapes_figure

    return shapes_figure(table)


TABLE = RunTable(
    name="astra_shapes",
    title="The winning kernels on every workload",
    caption=(
        "The winning kernels on every workload: time, speedup over the upstream kernel and share of the memory "
        "bandwidth, by size and data type. `held_out` workloads were in no prompt."
    ),
    category="Astra",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "kernel": "Kernel",
        "experiment": "Experiment",
        "workload": "Workload",
        "held_out": "Held out",
        "baseline": "Baseline",
        "baseline_us": "Baseline (us)",
        "optimised_us": "Winner (us)",
        "speedup": "Speedup",
    },
    figures=(Figure("astra_shapes", "The winning kernels on every workload", figure),),
)
