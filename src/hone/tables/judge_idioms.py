"""judge_idioms: honest files, one for each way in which real answers are written, and whether the judge was fair.

What a file is stands in its leading comments: `way` (which way of writing it is; what has this line is an idiom),
`expected` (verdicts, with `|` between them) and `findings` (those that a pass should have, by comma; none by default).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hone.analysis.context import Context
from hone.records import Solution, Status
from hone.sources.solution_files import header, statuses
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import of


class Row(TableRow):
    """One honest file."""

    idiom: str
    """Name of the file."""
    language: columns.FileLanguage
    status: columns.Verdict
    expected: str
    """The verdicts that the file allows itself, with | between them."""
    as_expected: str
    """Yes or no: whether the verdict is one of them, and a pass has the findings that it should have; empty without
    verdict or expectation."""
    mode: str
    """How the solution was timed: `graph`, `queued`, `replay` or `stream`."""
    findings: columns.Findings
    way: str = ""
    """Which way of writing it shows; as the file says."""
    expected_findings: str = ""
    """The findings that the file expects of a pass, by comma."""
    definition: columns.Problem = ""
    experiment: columns.Experiment = ""
    baseline: columns.Baseline = ""
    speedup: columns.Speedup = EMPTY
    speedup_low: columns.SpeedupLow = EMPTY
    speedup_high: columns.SpeedupHigh = EMPTY
    latency_ms: columns.LatencyMs = EMPTY
    baseline_ms: columns.BaselineMs = EMPTY
    detail: columns.Detail = ""
    wall_s: columns.WallSeconds = EMPTY
    solution: columns.SolutionDigest = ""
    judged_by: columns.JudgedBy = ""


def is_idiom(solution: Solution | None) -> bool:
    """Whether a file says which way of writing it shows."""
    return solution is not None and "way" in header(solution.source, solution.language)


def rows(run: Run) -> list[Row]:
    """A row for each file that has a line `way`, of all `files` experiments, by way and name.

    Speedups are over the first baseline of the config.
    """
    known = {solution.id: solution for solution in run.records.solutions if is_idiom(solution)}
    frame = run.frame
    items = frame[(frame["method"] == "files") & frame["solution"].isin(list(known))].to_dict("records")
    found = [_row(item, known[str(item["solution"])], run.context) for item in items]
    return sorted(found, key=lambda row: (row.way, row.idiom, row.experiment))


def as_expected(status: str, found: str, expected: str, expected_findings: str) -> str:
    """Yes or no: whether verdict and findings are what the file says; empty where nothing is expected or known.

    `found` has `; ` between findings, as in the frame. A verdict that says nothing about the solution counts where
    the file expects it, and else is neither. Findings count for a pass alone.
    """
    allowed = statuses(expected)
    if status in allowed:
        same = _words(found, ";") == _words(expected_findings, ",")
        return "yes" if status != Status.PASSED or same else "no"
    judged = status in tuple(Status) and Status(status).resolved
    return "no" if allowed and judged else ""


def _row(item: dict[Any, Any], solution: Solution, context: Context) -> Row:
    lines = header(solution.source, solution.language)
    baseline = next(iter(context.settings.baselines), "")
    times = ("speedup", "speedup_low", "speedup_high", "baseline_ms")
    expected, findings = lines.get("expected", ""), lines.get("findings", "")
    return Row.pick(
        item | context.provenance.columns(item) | {name: item.get(f"{name}_{baseline}", math.nan) for name in times},
        idiom=item["label"],
        way=lines["way"],
        language=str(solution.language),
        expected=expected,
        expected_findings=findings,
        as_expected=as_expected(str(item["status"]), str(item["findings"]), expected, findings),
        baseline=baseline,
    )


def _words(text: str, separator: str) -> set[str]:
    return {word.strip() for word in text.split(separator) if word.strip()}


def finding(rows: Sequence[Row]) -> str:
    """How many verdicts are what their files expect."""
    known = [row for row in rows if row.as_expected]
    fair = sum(row.as_expected == "yes" for row in known)
    return f"{of(fair, len(known), 'honest files')} got the verdict and the findings that they should." if known else ""


TABLE = RunTable(
    name="judge_idioms",
    title="Honest files, one for each way in which answers are written, judged",
    caption=(
        "Honest kernels, one for each way in which published answers are written: default-stream launches, streams and "
        "graphs of their own, kept buffers, builds in unusual places, libraries, compilers. The judge must give each "
        "the verdict, and the findings, that its file expects; `mode` is how it was timed."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "idiom": "File",
        "way": "Way of writing",
        "status": "Status",
        "as_expected": "As expected",
        "mode": "Timed by",
        "speedup": "Speedup",
        "findings": "Findings",
    },
)
