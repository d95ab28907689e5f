"""The leaderboard: fast_p by model and level, for each subset, baseline, clock, rule and threshold."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

import pandas as pd

from hone.analysis.context import Context
from hone.records import Status
from hone.tables.kernelbench_fast_p import Row, rows_of

Clock = Literal["judge", "kernelbench"]
"""`judge`: the judge's own. `kernelbench`: the benchmark's own loop, host work included."""
Rule = Literal["hone", "kernelbench"]
"""`hone`: every check of the judge. `kernelbench`: the benchmark's tolerance and trials alone."""
CLOCKS: tuple[Clock, ...] = ("judge", "kernelbench")
RULES: tuple[Rule, ...] = ("hone", "kernelbench")
GROUP = ("experiment", "model", "method", "level", "subset", "baseline")


def board(table: pd.DataFrame, frame: pd.DataFrame | None, context: Context | None) -> list[dict[str, Any]]:
    """A curve over p for each group, clock and rule.

    `table`: kernelbench_fast_p, which has the judge's clock and rule. The others follow from `frame`, by the same
    functions as the table, where verdicts hold them.
    """
    found = list(_curves(map(Row.pick, table.to_dict("records")), "judge", "hone"))
    if frame is not None and context is not None:
        for clock, rule in itertools.product(CLOCKS, RULES):
            if (clock, rule) != ("judge", "hone") and _has(frame, clock, rule):
                found += _curves(rows_of(variant(frame, clock, rule), context), clock, rule)
    return found


def variant(frame: pd.DataFrame, clock: Clock, rule: Rule) -> pd.DataFrame:
    """The frame with what another clock and rule say in the columns that count."""
    changed = frame.copy()
    if clock == "kernelbench":
        for name in _baselines(frame):
            changed[f"credited_{name}"] = frame[f"as_published_{name}"]
    if rule == "kernelbench":
        known = frame["status_as_published"] != ""
        changed["correct"] = frame["status_as_published"] == str(Status.PASSED)
        # Without code there is nothing to judge: both rules say so.
        changed["resolved"] = known | (frame["category"].isin(["no_code", "unanswered", "compiler", "python"]))
    return changed


def _has(frame: pd.DataFrame, clock: Clock, rule: Rule) -> bool:
    if rule == "kernelbench" and not (frame["status_as_published"] != "").any():
        return False
    return clock == "judge" or any(frame[f"as_published_{name}"].notna().any() for name in _baselines(frame))


def _baselines(frame: pd.DataFrame) -> list[str]:
    prefix = "as_published_"
    return [name.removeprefix(prefix) for name in frame.columns if name.startswith(prefix)]


def _curves(rows: Iterator[Row] | list[Row], clock: Clock, rule: Rule) -> Iterator[dict[str, Any]]:
    for key, group in itertools.groupby(rows, lambda row: tuple(getattr(row, name) for name in GROUP)):
        points = list(group)
        first = points[0]
        yield {
            **dict(zip(GROUP, key, strict=True)),
            "clock": clock,
            "rule": rule,
            "n": first.n,
            "doubtful": first.doubtful,
            "statistic": first.statistic,
            "geomean_speedup": first.geomean_speedup,
            "prompt_differs": first.prompt_differs,
            "points": [
                {
                    "p": row.p,
                    "value": row.fast_p,
                    "low": row.ci_low,
                    "high": row.ci_high,
                    "unresolved": row.unresolved,
                    "published": row.published,
                    "published_source": row.published_source,
                }
                for row in points
            ],
        }
