"""What all figures share: style, small multiples, and SVG files that are the same to the byte every time."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from hone.files import write_text

STYLE: Any = {
    "svg.hashsalt": "hone",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.titlesize": 11,
    "hatch.linewidth": 0.5,
}

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7B4B94", "#8C8C00", "#8B5A2B")
"""Colours that people with colour-blindness can tell apart (Okabe and Ito), then three more."""

MARKERS = "os^DvP*Xdp"
PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 3.3, 2.4
TITLE_IN, LEGEND_LINE_IN = 0.45, 0.19


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, in the order of the table."""
    return list(dict.fromkeys(values))


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, in order; they repeat after ten."""
    return {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(names)}


def markers(names: Sequence[str]) -> dict[str, str]:
    """A marker for each name, so that colour is never the only difference."""
    return {name: MARKERS[index % len(MARKERS)] for index, name in enumerate(names)}


def grid(
    rows: int, columns: int, *, heights_in: Sequence[float] | None = None, width_in: float = PANEL_WIDTH_IN
) -> tuple[Figure, Any]:
    """A figure with an array of axes of shape (rows, columns); `heights_in` are the heights of the rows."""
    heights = list(heights_in or [PANEL_HEIGHT_IN] * rows)
    size = (max(width_in * columns, 6.4), sum(heights) + TITLE_IN)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.09))
    axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw={"height_ratios": heights})
    return figure, axes


def legend_below(figure: Figure, axes: Any, order: Sequence[str] = ()) -> None:
    """One legend for all panels, each label once, in room added under the figure; `order` comes first."""
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not found:
        return
    found = {label: found[label] for label in [*(name for name in order if name in found), *found]}
    longest = max(len(label) for label in found)
    columns = max(1, min(len(found), int(figure.get_figwidth() / (0.06 * longest + 0.6))))
    lines = math.ceil(len(found) / columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE_IN * lines + 0.1)
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=columns,
        fontsize=8,
    )


def share_axis(axis: Axes, label: str) -> None:
    """A vertical axis from 0 to 1, with a little room so that 0 and 1 can be seen."""
    axis.set_ylim(-0.03, 1.03)
    axis.set_yticks(np.linspace(0, 1, 6))
    axis.set_ylabel(label)


def notice(said: str) -> Figure:
    """The figure of a table in which there is nothing to see: it says why."""
    figure = Figure(figsize=(6.4, 1.6), layout="constrained")
    axis = figure.subplots()
    axis.axis("off")
    axis.text(0.5, 0.5, said, ha="center", va="center", fontsize=12, color="#666666")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write an SVG without a date and with fixed identifiers."""
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    write_text(path, "\n".join(lines) + "\n")
