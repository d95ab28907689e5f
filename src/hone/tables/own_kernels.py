"""own_kernels: what became of a user's own kernels out of a folder, the fastest of each problem first.

The judge's own trials lie in folders, too: a file that names a `group` stands in judge_exploits, and one that names a
`way` in judge_idioms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hone.records import Status
from hone.tables import columns
from hone.tables.judge_exploits import folder_files
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import of


class Row(TableRow):
    """One file of a folder."""

    file: str
    """Name of the kernel's file."""
    definition: columns.Problem = ""
    language: columns.FileLanguage = ""
    status: columns.Verdict
    speedup: columns.Speedup = EMPTY
    speedup_low: columns.SpeedupLow = EMPTY
    speedup_high: columns.SpeedupHigh = EMPTY
    findings: columns.Findings = ""
    detail: columns.Detail = ""
    experiment: columns.Experiment = ""
    baseline: columns.Baseline = ""
    latency_ms: columns.LatencyMs = EMPTY
    baseline_ms: columns.BaselineMs = EMPTY
    as_published_speedup: float = EMPTY
    """The same by KernelBench's own timing loop, where the protocol asks for it."""
    wall_s: columns.WallSeconds = EMPTY
    solution: columns.SolutionDigest = ""


def rows(run: Run) -> list[Row]:
    """A row for each file of the `files` experiments that has no `group`, by experiment, problem and speed.

    Speedups are over the first baseline of the config.
    """
    items = [item for item in folder_files(run) if not item["group"]]
    found = [Row.pick(item, file=item["exploit"], as_published_speedup=item["as_published"]) for item in items]
    return sorted(found, key=_slowest_last)


def _slowest_last(row: Row) -> tuple[str, str, float, str]:
    return row.experiment, row.definition, math.inf if math.isnan(row.speedup) else -row.speedup, row.file


def finding(rows: Sequence[Row]) -> str:
    """How many passed."""
    passed = sum(row.status == Status.PASSED for row in rows)
    return f"{of(passed, len(rows), 'kernels of your own')} passed."


TABLE = RunTable(
    name="own_kernels",
    title="Your own kernels, judged",
    caption=(
        "Kernels out of a folder of your own (`method: files`), each with its verdict and its speedup over the "
        "config's first baseline, the fastest of each problem first."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "file": "File",
        "definition": "Problem",
        "status": "Status",
        "speedup": "Speedup",
        "speedup_low": "from",
        "speedup_high": "to",
        "findings": "Findings",
    },
)
