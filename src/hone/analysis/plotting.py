"""What all figures share: style, names, small multiples, and files that are the same to the byte every time."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hone.analysis.svg import slim
from hone.core.files import write_bytes, write_text

STYLE: Any = {
    "svg.hashsalt": "hone",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
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

SERIES: dict[str, Any] = {"markersize": 4.5, "linewidth": 1.5}
"""How a line of measured points is drawn."""

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7B4B94", "#8C8C00", "#8B5A2B")
"""Colours that people with colour-blindness can tell apart (Okabe and Ito), then three more."""

MARKERS = "os^DvP*Xdp"
PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 3.3, 2.4
TITLE_IN, LEGEND_LINE_IN = 0.45, 0.19
LEAST_HEIGHT_IN = 1.6
"""Of a figure with one short panel: what its title, the panel's own and the axis take, with room for a bar."""


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, in the order of the table."""
    return list(dict.fromkeys(values))


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, in order; they repeat after ten."""
    return {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(names)}


def markers(names: Sequence[str]) -> dict[str, str]:
    """A marker for each name, so that colour is never the only difference."""
    return {name: MARKERS[index % len(MARKERS)] for index, name in enumerate(names)}


NAMES = {
    "torch_eager": "PyTorch eager",
    "torch_compile": "torch.compile",
    "upstream": "the upstream kernel",
    "current": "today's kernel",
}
"""Names of baselines as people write them."""


def readable(name: str) -> str:
    """A name of the config as people write it: baselines by NAMES, else without underscores."""
    return NAMES.get(name, name.replace("_", " "))


def model_name(name: str) -> str:
    """A model's name as its provider writes it; `recorded/demo` is `demo (recorded answers)`, so that it is plain."""
    recorded = name.removeprefix("recorded/")
    return name if recorded == name else f"{recorded.replace('_', ' ')} (recorded answers)"


def grid(
    rows: int,
    columns: int,
    *,
    heights_in: Sequence[float] | None = None,
    width_in: float = PANEL_WIDTH_IN,
    share: bool = False,
) -> tuple[Figure, Any]:
    """A figure with an array of axes of shape (rows, columns); `heights_in` are the heights of the rows.

    With `share` all panels have the same two axes, which are labelled at the left and at the bottom alone.
    """
    heights = list(heights_in or [PANEL_HEIGHT_IN] * rows)
    size = (max(width_in * columns, 6.4), max(sum(heights) + TITLE_IN, LEAST_HEIGHT_IN))
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.09))
    ratios = {"height_ratios": heights}
    axes = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share, gridspec_kw=ratios)
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


def outer_labels(axes: Any, x: str, y: str | Sequence[str]) -> None:
    """Labels, and the numbers of shared axes, at the lowest panel of a column and the first of a row alone.

    `y` is one for all rows, or one for each.
    """
    rows, columns = axes.shape
    said = [y] * rows if isinstance(y, str) else y
    for down in range(rows):
        for across in range(columns):
            axis = axes[down, across]
            lowest = not any(axes[below, across].get_visible() for below in range(down + 1, rows))
            first = not any(axes[down, before].get_visible() for before in range(across))
            axis.set_xlabel(x if lowest else "")
            axis.set_ylabel(said[down] if first else "")
            axis.tick_params(labelbottom=lowest, labelleft=first)


def spaced(values: Iterable[float], least: float = 0.09) -> list[float]:
    """Ticks whose numbers do not touch: 0 and 1 first, then the others, `least` of the axis apart."""
    ordered = sorted(values, key=lambda value: (value not in (0, 1), value))
    span = (max(ordered) - min(ordered)) or 1.0
    kept: list[float] = []
    for value in ordered:
        if all(abs(value - other) >= least * span for other in kept):
            kept.append(value)
    return sorted(kept)


def ink(colour: str) -> str:
    """Black or white, whichever reads better on a colour `#RRGGBB`."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 120 else "white"


def share_axis(axis: Axes, label: str) -> None:
    """A vertical axis from 0 to 1, with a little room so that 0 and 1 can be seen."""
    axis.set_ylim(-0.03, 1.03)
    axis.set_yticks(np.linspace(0, 1, 6))
    axis.set_ylabel(label)


def log_axis(axis: Axes, low: float, high: float, which: Literal["x", "y"] = "x") -> None:
    """A log axis with numbers as people write them, no more than fit a panel."""
    axis.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    decades = high / low
    steps = (1, 2, 5) if decades < 30 else (1, 3) if decades < 300 else (1,)
    ticks = getattr(axis, f"{which}axis")
    ticks.set_major_locator(LogLocator(subs=steps))
    ticks.set_minor_locator(NullLocator())
    ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def titled(title: str, draw: Callable[[], Figure]) -> Figure:
    """What `draw` draws, in the style of all figures and below a title."""
    with mpl.rc_context(STYLE):
        drawn = draw()
        drawn.suptitle(title)
        return drawn


class NothingToShow(Exception):
    """A figure of these rows would be empty; the message says why."""


def save(figure: Figure, path: Path) -> None:
    """Write an SVG, and a PDF beside it, without dates and with fixed identifiers.

    Letters of the SVG are outlines, so that it looks the same everywhere; what they spell stands in comments.
    """
    drawn, printed = io.StringIO(), io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.set_dpi(POINTS_AN_INCH)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # both files have the same layout
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        figure.savefig(printed, format="pdf", metadata={"CreationDate": None})
    write_text(path, slim(drawn.getvalue()))
    write_bytes(path.with_suffix(".pdf"), SUBSET.sub(rb"/HONEAA+", printed.getvalue()))


POINTS_AN_INCH = 72
SUBSET = re.compile(rb"/[A-Z]{6}\+(?=DejaVu)")
"""The prefix of an embedded font's name: matplotlib draws it by a hash that differs from process to process."""
