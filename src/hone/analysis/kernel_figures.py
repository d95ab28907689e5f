"""The figure of gnn_kernels: what an epoch gained, beside what Amdahl's law promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hone.analysis.plotting import PALETTE, NothingToShow, grid, legend_below, readable

Places = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Where each row of the table is drawn, shape (rows,)."""
BAR_IN = 0.5
FILLS = {True: "#6FAFD6", False: "#D6E9F5"}
"""Whether the kernel ran in every process of the training."""
SILENT = {
    "builtin": "the builtin ran: nothing is claimed",
    "fell_back": "fell back to the builtin: nothing was measured",
}
"""What stands in the place of a measured gain."""


def kernels_figure(table: pd.DataFrame) -> Figure:
    """A row an operator and training: its speedup by itself, and the gain of an epoch, promised and measured.

    What the table does not claim has neither bar nor whiskers. Operators that nobody has improved and no training asked
    for are left to the table. Raises NothingToShow where the builtins ran everywhere.
    """
    if (table["used"] == "builtin").all() and table["speedup"].isna().all():
        raise NothingToShow("the builtins ran in every training")
    told = table[(table["training"] != "") | (table["used"] != "builtin")]
    table = table if told.empty else told
    told_apart = [column for column in ("model", "system") if table.loc[table["training"] != "", column].nunique() > 1]
    names = [_name(row, told_apart) for _, row in table.iterrows()]
    figure, axes = grid(1, 2, heights_in=[BAR_IN * len(table) + 1.0], width_in=3.6)
    alone, epoch = axes[0]
    places = np.arange(len(table))
    _alone(alone, places, table)
    _epoch(epoch, places, table)
    for axis, shown in ((alone, names), (epoch, [""] * len(names))):
        axis.axvline(1, color="#444444", linewidth=1, linestyle=":")
        axis.set_yticks(places, shown)
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.set_xlim(0, max(1.1, 1.08 * axis.get_xlim()[1]))
        axis.grid(axis="y", visible=False)
    legend_below(figure, axes)
    return figure


def _alone(axis: Axes, places: Places, table: pd.DataFrame) -> None:
    """Light where the kernel did not run in every process of the training."""
    known = table["speedup"].notna().to_numpy()
    fills = [FILLS[used == "selected"] for used in table["used"][known]]
    axis.barh(places[known], table["speedup"][known], color=fills, height=0.62, edgecolor=PALETTE[0])
    axis.set_xlabel("speedup of the operator alone")


def _epoch(axis: Axes, places: Places, table: pd.DataFrame) -> None:
    gains, low, high = (table[f"measured_{name}"].to_numpy() for name in ("gain", "low", "high"))
    known, spread = np.isfinite(gains), np.isfinite(gains) & np.isfinite(low) & np.isfinite(high)
    if known.any():
        axis.barh(
            places[known], gains[known], color=FILLS[True], height=0.62, edgecolor=PALETTE[0],
            label="measured: selected",
        )  # fmt: skip
    if spread.any():
        sides = [(gains - low)[spread].clip(min=0), (high - gains)[spread].clip(min=0)]
        style: dict[str, Any] = {"ecolor": "#444444", "capsize": 2, "elinewidth": 1, "fmt": "none"}
        axis.errorbar(gains[spread], places[spread], xerr=sides, **style)
    if table["predicted_gain"].notna().any():
        axis.plot(
            table["predicted_gain"], places, "D", color="black", markerfacecolor="none", markersize=6,
            label="predicted by Amdahl's law",
        )  # fmt: skip
    for place, (training, used, gain) in zip(places, table[["training", "used", "measured_gain"]].values, strict=True):
        if training and np.isnan(gain) and used != "selected":
            said = SILENT.get(used, "not all seeds ran the kernel: nothing was measured")
            style = {"transform": axis.get_yaxis_transform(), "fontsize": 7, "color": "#444444", "va": "center"}
            axis.text(0.02, float(place), said, **style)
    axis.set_xlabel("gain of an epoch of training")


def _name(row: pd.Series, told_apart: list[str]) -> str:
    """Operator, graph and training, and what else tells the trainings apart."""
    operator = readable(row["operator"])
    if not row["training"]:
        return f"{operator}\nno training"
    parts = [readable(row[column]) for column in ("dataset", "training", *told_apart)]
    return f"{operator}\n{', '.join(parts)}"
