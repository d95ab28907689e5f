"""The figure of gnn_kernels: what an epoch gained, beside what Amdahl's law promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hone.analysis.plotting import PALETTE, grid, legend_below

BAR_IN = 0.5
HATCHES = {"selected": "", "builtin": "....", "fell_back": "////"}


def kernels_figure(table: pd.DataFrame) -> Figure:
    """A row an operator and training: its speedup by itself, and the gain of an epoch, promised and measured.

    Operators that nobody has improved and no training asked for are left to the table.
    """
    told = table[(table["training"] != "") | (table["used"] != "builtin")]
    table = table if told.empty else told
    names = [_name(row) for _, row in table.iterrows()]
    figure, axes = grid(1, 2, heights_in=[BAR_IN * len(table) + 1.0], width_in=4.2)
    alone, epoch = axes[0]
    places = np.arange(len(table))
    hatches = [HATCHES.get(used, "xxxx") for used in table["used"]]
    alone.barh(places, table["speedup"].fillna(1), color=PALETTE[0], height=0.62, hatch=hatches, edgecolor="white")
    alone.set_xlabel("speedup of the operator alone")
    _bars(epoch, places, table["measured_gain"], hatches)
    spread = [table["measured_gain"] - table["measured_low"], table["measured_high"] - table["measured_gain"]]
    style: dict[str, Any] = {"ecolor": "#444444", "capsize": 2, "elinewidth": 1, "fmt": "none"}
    epoch.errorbar(table["measured_gain"], places, xerr=[part.fillna(0).clip(lower=0) for part in spread], **style)
    epoch.plot(
        table["predicted_gain"], places, "D", color="black", markerfacecolor="none", markersize=6,
        label="predicted by Amdahl's law",
    )  # fmt: skip
    epoch.set_xlabel("gain of an epoch of training")
    for axis, shown in ((alone, names), (epoch, [""] * len(names))):
        axis.axvline(1, color="#444444", linewidth=1, linestyle=":")
        axis.set_yticks(places, shown)
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.set_xlim(0, max(1.1, 1.08 * axis.get_xlim()[1]))
        axis.grid(axis="y", visible=False)
    legend_below(figure, axes)
    return figure


def _bars(axis: Axes, places: np.ndarray[tuple[int], np.dtype[np.int64]], gains: pd.Series, hatches: list[str]) -> None:
    labels = {hatch: f"measured: {used}" for used, hatch in HATCHES.items()}
    for hatch in dict.fromkeys(hatches):
        chosen = np.array([each == hatch for each in hatches])
        axis.barh(
            places[chosen], gains.to_numpy()[chosen], color=PALETTE[5], height=0.62, hatch=hatch, edgecolor="white",
            label=labels.get(hatch, "measured: differs by seed"),
        )  # fmt: skip


def _name(row: pd.Series) -> str:
    if not row["training"]:
        return f"{row['operator']}\nno training"
    return f"{row['operator']}\n{row['dataset']}, {row['model']}, {row['system']} ({row['training']})"
