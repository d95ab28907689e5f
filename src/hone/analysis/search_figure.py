"""The figure of search_budget: speedup by evaluations, and by answers."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hone.analysis.plotting import NothingToShow, colours, distinct, grid, legend_below, readable

AXES = {"evaluations": "evaluations", "answers": "answers of models"}
RING: dict[str, Any] = {"marker": "o", "linestyle": "none", "markerfacecolor": "none", "markersize": 8}
"""What the judge's own protocol says of a search's winner."""


def budget_figure(table: pd.DataFrame) -> Figure:
    """A row of panels for each operator: by evaluations, and by answers where any were asked for.

    Raises NothingToShow where no search has a right kernel.
    """
    table = table[table["speedup"].notna()]
    if table.empty:
        raise NothingToShow("no search has found a kernel that is right")
    operators = distinct(table["operator"])
    table = table.assign(line=_lines(table))
    colour = colours(distinct(table["line"]))
    panels = AXES if (table["answers"] > 0).any() else {"evaluations": AXES["evaluations"]}
    figure, axes = grid(len(operators), len(panels))
    for down, operator in enumerate(operators):
        chosen = table[table["operator"] == operator]
        for axis, (column, words) in zip(axes[down], panels.items(), strict=True):
            axis.axhline(1, color="#444444", linewidth=1, linestyle=":")
            for line in distinct(chosen["line"]):
                for _, rows in chosen[chosen["line"] == line].groupby("file", sort=False):
                    _line(axis, rows, column, line, colour[line])
            axis.set_title(operator)
            axis.set_xlabel(words)
            axis.set_ylabel(f"speedup over {' or '.join(readable(name) for name in distinct(chosen['baseline']))}")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if table["judged_speedup"].notna().any():
        axes[0][0].plot([], [], color="#444444", label="judged on all workloads that are not held out", **RING)
    legend_below(figure, axes)
    return figure


def _lines(table: pd.DataFrame) -> pd.Series[str]:
    """Strategy and model of each row; the experiment, too, where one operator has several of them."""
    short = table["strategy"] + " (" + table["model"] + ")"
    if table.groupby([table["operator"], short])["experiment"].nunique().max() == 1:
        return short
    return table["strategy"] + " (" + table["experiment"] + ", " + table["model"] + ")"


def _line(axis: Axes, rows: pd.DataFrame, column: str, label: str, colour: str) -> None:
    """The mean of several searches with its band, the searches themselves thin; one search alone as it is."""
    several = (rows["repeat"] == "all").any()
    mean = rows[rows["repeat"] == "all"] if several else rows
    style: dict[str, Any] = {"where": "post", "color": colour}
    if (rows[column] == 0).all():  # nothing is spent: a level, not a curve
        axis.axhline(mean["speedup"].iloc[-1], color=colour, linestyle="--", linewidth=1.3, label=label)
        return
    if several:
        for _, each in rows[rows["repeat"] != "all"].groupby("repeat", sort=False):
            axis.step(each[column], each["speedup"], linewidth=0.6, alpha=0.5, **style)
        axis.fill_between(mean[column], mean["ci_low"], mean["ci_high"], step="post", color=colour, alpha=0.15)
    axis.step(mean[column], mean["speedup"], linewidth=1.6, label=label, **style)
    judged = mean[mean["judged_speedup"].notna()].tail(1)
    axis.plot(judged[column], judged["judged_speedup"], color=colour, **RING)
