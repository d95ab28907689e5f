"""judge_gold: the problems' own references, judged as if they were solutions."""

from __future__ import annotations

from collections.abc import Sequence

from hone.analysis.groups import timed_rows
from hone.records import Status
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import known, of, span


class Row(TableRow):
    """One reference against one baseline."""

    definition: str
    """Name of the problem."""
    status: str
    """Verdict."""
    speedup: float = EMPTY
    """Median time of the baseline over median time of the solution."""
    gpu_held_s: float = EMPTY
    """Seconds during which a GPU was held; 0 when judged on a CPU."""
    wall_s: float = EMPTY
    """Seconds from start to verdict, all phases."""
    detail: str = ""
    """The verdict's reason."""
    experiment: str = ""
    """Name in the config."""
    baseline: str = ""
    """What the speedup is measured against."""
    speedup_low: float = EMPTY
    """Lower end of the speedup's interval, runs resampled in pairs."""
    speedup_high: float = EMPTY
    """Upper end of that interval."""
    latency_ms: float = EMPTY
    """Median time of the solution in milliseconds."""
    baseline_ms: float = EMPTY
    """Median time of the baseline in milliseconds."""
    findings: str = ""
    """What makes the time doubtful."""
    solution: str = ""
    """Digest of the kernel."""


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
