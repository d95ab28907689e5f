"""The page of cases: the table case_studies in sentences, each with the page of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hone.solutions.verdict import FINDINGS, STATUSES

TITLES = {
    "fastest": "The fastest with credit",
    "claimed": "Claimed, and not earned here",
    "two_rules": "Right by KernelBench’s rule alone",
}
RULE = {
    "fastest": "The highest credited speedups by the judge’s clock, one a problem. They fill the list up to ten.",
    "claimed": "The three highest speedups that an archive claims and the answer does not earn here, one a problem.",
    "two_rules": "Three that pass by KernelBench’s rule and earn nothing by ours, one of each kind, the fastest first.",
}
"""How each part is chosen."""
STANDINGS = {
    "degenerate": "The problem can be passed without its work, so the time says little.",
}
"""What no verdict and no finding says."""


def cases(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Parts of the page with their cases, in the table's order; `table` as `site.tables.as_data` gives it."""
    names = [column["name"] for column in table["columns"]]
    links = table["links"] or [None] * len(table["rows"])
    rows = [
        {**dict(zip(names, cells, strict=True)), "answer": link}
        for cells, link in zip(table["rows"], links, strict=True)
    ]
    return [
        {"name": name, "title": TITLES[name], "rule": RULE[name], "cases": [_case(row) for row in chosen]}
        for name in TITLES
        if (chosen := [row for row in rows if row["chosen_for"] == name])
    ]


def _case(row: Mapping[str, Any]) -> dict[str, Any]:
    statuses = {str(status): text for status, text in STATUSES.items()}
    findings = [text for name, text in FINDINGS.items() if name in str(row["findings"]).split("; ")]
    shown = (
        *("answer", "model", "definition", "status", "status_kernelbench", "standing", "detail", "source"),
        *("claimed_speedup", "as_published_speedup", "device_speedup", "baseline"),
    )
    told = [statuses.get(str(row["status"]), ""), *findings, STANDINGS.get(str(row["standing"]), "")]
    return {**{name: row[name] for name in shown}, "said": [text for text in told if text]}
