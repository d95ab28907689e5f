"""Figures about cost: dollars and tokens of the language models, seconds of builds and verdicts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from hone.analysis import plotting
from hone.analysis.plotting import NothingToShow, grid, legend_below

BAR_IN = 0.3


def llm_cost_figure(table: pd.DataFrame) -> Figure:
    """Dollars and tokens of each experiment and model; rows without counts are left out.

    Raises NothingToShow where no row has counts.
    """
    table = table[table["cost_usd"].notna()]
    if not len(table):
        raise NothingToShow("no tokens were counted: only transcripts, or servers that do not count")
    labels = [
        f"{plotting.readable(row['experiment'])}, {plotting.model_name(row['model'])} ({_calls(row)})"
        for row in table.to_dict("records")
    ]
    figure, axes = grid(1, 2, heights_in=[BAR_IN * len(labels) + 0.9], width_in=4.6)
    places = range(len(labels))
    axes[0, 0].barh(places, table["cost_usd"], color=plotting.PALETTE[0], height=0.7)
    axes[0, 0].set_xlabel("cost (US dollars)")
    room = float(table["cost_usd"].max()) or 1.0
    for place, cost in enumerate(table["cost_usd"]):
        axes[0, 0].text(cost + 0.02 * room, place, f"${cost:.2f}", va="center", fontsize=7)
    axes[0, 0].set_xlim(0, room * 1.25)
    axes[0, 1].barh(places, table["input_tokens"], color=plotting.PALETTE[5], height=0.7, label="input tokens")
    left = table["input_tokens"]
    axes[0, 1].barh(
        places, table["output_tokens"], left=left, color=plotting.PALETTE[1], height=0.7, label="output tokens"
    )
    most = float((table["input_tokens"] + table["output_tokens"]).max())
    axes[0, 1].set_xlim(0, (most or 1000.0) * 1.05)  # answers of other experiments alone: no tokens, no negative axis
    axes[0, 1].set_xlabel("tokens (k: thousand, M: million)")
    _bar_names(axes, labels)
    axes[0, 1].xaxis.set_major_formatter(EngFormatter(sep=""))
    legend_below(figure, axes)
    return figure


def _calls(row: dict[Hashable, Any]) -> str:
    """How many calls a bar stands for, and how many are missing from it."""
    missing = f", {row['uncounted_calls']} not counted" if row["uncounted_calls"] else ""
    return f"{row['calls']} calls{missing}"


def judge_cost_figure(table: pd.DataFrame) -> Figure:
    """Seconds by phase, where they were spent."""
    sums = table.groupby(["phase", "where"], sort=False)["seconds"].sum().unstack(fill_value=0)
    figure, axes = grid(1, 1, heights_in=[BAR_IN * len(sums) + 0.9], width_in=6.4)
    axis, left = axes[0, 0], np.zeros(len(sums))
    places = {"cpu": ("on CPU", 5), "gpu": ("on GPU", 1), "waiting": ("waiting for other judges", 7)}
    for where, (label, colour) in places.items():
        if where in sums:
            height, shade = 0.7, plotting.PALETTE[colour]
            axis.barh(range(len(sums)), sums[where], left=left, color=shade, height=height, label=label)
            left = left + sums[where].to_numpy()
    axis.set_xlabel(f"seconds, sum over {table['solution'].nunique()} solutions")
    _bar_names(axes, [str(phase) for phase in sums.index])
    legend_below(figure, axes)
    return figure


def _bar_names(axes: Any, labels: list[str]) -> None:
    for index, axis in enumerate(axes.flat):
        axis.set_yticks(range(len(labels)), labels if index == 0 else [""] * len(labels))
        axis.set_ylim(len(labels) - 0.4, -0.6)
        axis.grid(axis="y", visible=False)
        axis.xaxis.set_major_locator(MaxNLocator(5))
