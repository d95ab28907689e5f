"""judge_gold: the problems' own references, judged as if they were solutions."""

from __future__ import annotations

from collections.abc import Sequence

from hone.analysis.groups import timed_rows
from hone.records import Status
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import known, of, span


class Row(TableRow):
    """One reference against one baseline."""

    definition: columns.Problem
    status: columns.Verdict
    speedup: columns.Speedup = EMPTY
    gpu_held_s: float = EMPTY
    """Seconds during which a GPU was held; 0 when judged on a CPU."""
    wall_s: columns.WallSeconds = EMPTY
    detail: columns.Detail = ""
    experiment: columns.Experiment = ""
    baseline: columns.Baseline = ""
    speedup_low: columns.SpeedupLow = EMPTY
    speedup_high: columns.SpeedupHigh = EMPTY
    latency_ms: columns.LatencyMs = EMPTY
    baseline_ms: columns.BaselineMs = EMPTY
    findings: str = ""
    """What makes the time doubtful."""
    solution: columns.SolutionDigest = ""
    judged_by: columns.JudgedBy = ""


def rows(run: Run) -> list[Row]:
    """Every problem of the `gold` experiments, judged or not, once for each baseline."""
    gold = run.frame[run.frame["method"] == "gold"]
    return [
        Row.pick(cells) for item in gold.to_dict("records") for cells in timed_rows(item, run.context, untimed=True)
    ]


def finding(rows: Sequence[Row]) -> str:
    """How many references pass, and at what speedup."""
    problems = {(row.experiment, row.definition): row.status for row in rows}
    passed = sum(status == Status.PASSED for status in problems.values())
    speedups = known(row.speedup for row in rows)
    found = f"{of(passed, len(problems), 'references')} pass as solutions of their own problem"
    return f"{found}, at speedups of {span(speedups)} (1 is right)." if speedups else f"{found}."


TABLE = RunTable(
    name="judge_gold",
    title="The references judged as solutions",
    caption=(
        "The problems' own references judged as if they were solutions: each must pass, at a speedup near 1. A problem "
        "that does not is a problem of the judge or of the benchmark, not of a model."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "definition": "Problem",
        "baseline": "Baseline",
        "status": "Status",
        "speedup": "Speedup",
        "latency_ms": "Time (ms)",
        "wall_s": "Judging (s)",
        "findings": "Findings",
    },
)
