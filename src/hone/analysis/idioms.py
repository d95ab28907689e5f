"""judge_idioms: honest files, one for each way in which real answers are written, and whether the judge was fair.

What a file is stands in its leading comments: `way` (which way of writing it is; what has this line is an idiom),
`expected` (verdicts, with `|` between them) and `findings` (those that a pass should have, by comma; none by default).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from hone.analysis.tables import Context, Row
from hone.methods.files import header, statuses
from hone.records import Solution, Status


def is_idiom(solution: Solution | None) -> bool:
    """Whether a file says which way of writing it shows."""
    return solution is not None and "way" in header(solution.source, solution.language)


def idiom_rows(frame: pd.DataFrame, solutions: Iterable[Solution], context: Context) -> list[Row]:
    """judge_idioms: one row a file that has a line `way`, of all `files` experiments, by way and name.

    Speedups are over the first baseline of the config.
    """
    known = {solution.id: solution for solution in solutions if is_idiom(solution)}
    items = frame[(frame["method"] == "files") & frame["solution"].isin(list(known))].to_dict("records")
    rows = [_row(item, known[str(item["solution"])], context) for item in items]
    return sorted(rows, key=lambda row: (row["way"], row["idiom"], row["experiment"]))


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
    names = ("speedup", "speedup_low", "speedup_high", "baseline_ms")
    row = item | context.provenance.columns(item) | {name: item.get(f"{name}_{baseline}", math.nan) for name in names}
    expected, findings = lines.get("expected", ""), lines.get("findings", "")
    return row | {
        "idiom": item["label"],
        "way": lines["way"],
        "language": str(solution.language),
        "expected": expected,
        "expected_findings": findings,
        "as_expected": as_expected(str(item["status"]), str(item["findings"]), expected, findings),
        "baseline": baseline,
    }


def _words(text: str, separator: str) -> set[str]:
    return {word.strip() for word in text.split(separator) if word.strip()}
