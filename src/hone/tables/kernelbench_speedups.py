"""kernelbench_speedups: speedup of every correct kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.groups import prompted, timed_rows
from hone.analysis.render import number
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One correct kernel against one baseline."""

    experiment: columns.Experiment
    model: columns.LanguageModel
    method: columns.Method
    level: str
    """KernelBench level."""
    definition: columns.Problem
    baseline: columns.Baseline
    speedup: columns.Speedup = EMPTY
    speedup_low: columns.SpeedupLow = EMPTY
    speedup_high: columns.SpeedupHigh = EMPTY
    latency_ms: columns.LatencyMs = EMPTY
    baseline_ms: columns.BaselineMs = EMPTY
    findings: columns.Findings = ""
    sound: bool
    """No defect of the problem is known."""
    turn: columns.Turn
    sample: columns.Sample
    solution: columns.SolutionDigest = ""


def rows(run: Run) -> list[Row]:
    """A row for each correct timed kernel and baseline, with what makes a time doubtful."""
    answers = prompted(run.frame)
    correct = answers[answers["correct"].astype(bool)]
    return [
        Row.pick(cells, level=str(item["level"]))
        for item in correct.to_dict("records")
        for cells in timed_rows(item, run.context)
    ]


def finding(rows: Sequence[Row]) -> str:
    """How many kernels are faster than the first baseline, and the fastest that has a credited time."""
    own = [row for row in rows if row.baseline == rows[0].baseline]
    credited = [row for row in own if not row.findings]
    faster = sum(row.speedup > 1 for row in credited)
    said = f"{of(faster, len(own), 'correct kernels')} are faster than `{rows[0].baseline}`"
    if not credited:
        return f"{said}; the times of all are doubtful."
    best = max(credited, key=lambda row: row.speedup)
    return f"{said}; the best is {number(best.speedup)} times as fast (`{best.definition}`, {best.model})."


def figure(table: pd.DataFrame) -> Drawn:
    """A mark for each kernel."""
    from hone.analysis.kernelbench_figures import speedups_figure

    return speedups_figure(table)


TABLE = RunTable(
    name="kernelbench_speedups",
    title="Speedup of every correct kernel",
    caption=(
        "Speedup of every correct kernel over the baseline: medians of times taken in turns in one run, with their "
        "interval. A time that is doubtful, for instance below what the hardware can need, says so in `findings` and "
        "earns nothing."
    ),
    category="KernelBench",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "definition": "Problem",
        "baseline": "Baseline",
        "latency_ms": "Time (ms)",
        "baseline_ms": "Baseline (ms)",
        "speedup": "Speedup",
        "findings": "Findings",
    },
    figures=(Figure("kernelbench_speedups", "Speedup of correct kernels", figure),),
)
