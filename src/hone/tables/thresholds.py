"""The page of a table of fast_p, as the paper's: a row for each group of problems, a column for each threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from hone.tables.row import EMPTY
from hone.tables.words import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHOWN = (0.0, 1.0, 2.0)
"""Thresholds of the page: correct, faster, twice as fast."""
HEADINGS = {"fast_0": "fast_0: correct", "fast_1": "fast_1: faster", "fast_2": "fast_2"}


def layout_by(*places: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A layout for tables with the columns `places`, `subset`, `baseline`, `p`, `n`, `fast_p` and its interval.

    Rows of all problems are shown, those of subsets stand in the CSV file. Where there are several baselines the
    experiment says which.
    """

    def layout(table: pd.DataFrame) -> pd.DataFrame:
        several = table["baseline"].nunique() > 1
        found: dict[tuple[object, ...], dict[str, Any]] = {}
        for row in table[table["subset"] == "all"].to_dict("records"):
            key = tuple(row[name] for name in (*places, "baseline"))
            shown = found.setdefault(key, {**{name: row[name] for name in places}, "n": row["n"], "published": EMPTY})
            if several:
                shown["experiment"] = f"{row['experiment']}, over {row['baseline']}"
            if row["p"] in SHOWN:
                shown[f"fast_{row['p']:g}"] = estimate(row["fast_p"], row["ci_low"], row["ci_high"])
            if row["p"] == 1:
                shown["published"] = row["published"]
        thresholds = [f"fast_{p:g}" for p in SHOWN]
        columns = [*places, "n", *thresholds, "published"]
        return pd.DataFrame(list(found.values()), columns=columns).fillna(dict.fromkeys(thresholds, ""))

    return layout


def mean_of(rows: Sequence[Any]) -> float:
    """Fast_p over the problems of several rows with `fast_p` and `n`: each problem counts once."""
    shares = [(row.fast_p, row.n) for row in rows]
    return float(sum(share * n for share, n in shares) / sum(n for _, n in shares))
