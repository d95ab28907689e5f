"""Published speedups: as claimed, by KernelBench's loop here, and by the device's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hone.analysis import plotting
from hone.analysis.plotting import NothingToShow, distinct, grid, legend_below, log_axis
from hone.analysis.standing import MEANINGS

LOOKS: dict[str, tuple[str, str]] = {
    "credited": (plotting.PALETTE[0], "o"),
    "doubtful": (plotting.PALETTE[5], "v"),
    "degenerate": (plotting.PALETTE[2], "D"),
    "no_custom_kernel": (plotting.PALETTE[4], "s"),
    "fallback": (plotting.PALETTE[1], "^"),
    "too_fast": (plotting.PALETTE[3], "P"),
    "imprecise": (plotting.PALETTE[7], "p"),
    "fails": (plotting.PALETTE[6], "x"),
}
"""Standing -> colour and marker."""
HEIGHT_IN, WIDTH_IN = 3.0, 3.9
DIAGONAL: dict[str, Any] = {"color": "#444444", "linewidth": 1, "linestyle": ":", "scalex": False, "scaley": False}
STRIP = 0.1
"""Share of a panel's height for answers without a time here."""
CLAIMED, PUBLIC, DEVICE = "claimed_speedup", "as_published_speedup", "device_speedup"


def published_claims_figure(table: pd.DataFrame) -> Figure:
    """A row of two panels for each archive and baseline with claimed speedups, on log axes; a mark is an answer.

    Left: claimed against KernelBench's loop here. Right: that against the device's clock; what lies below the diagonal
    there is work of the host, such as launches. Raises NothingToShow where no archive claims a speedup.
    """
    table = table[(table[CLAIMED] > 0) & (table["standing"] != "no_verdict")]
    if not len(table):
        raise NothingToShow("no archive publishes a speedup of an answer that has a verdict here")
    rows = distinct(zip(table["experiment"], table["baseline"], strict=True))
    several = table["baseline"].nunique() > 1
    figure, axes = grid(len(rows), 2, heights_in=[HEIGHT_IN] * len(rows), width_in=WIDTH_IN)
    for (left, right), (experiment, baseline) in zip(axes, rows, strict=True):
        chosen = table[(table["experiment"] == experiment) & (table["baseline"] == baseline)]
        both = chosen[chosen[PUBLIC].notna() & chosen[DEVICE].notna()]
        name = plotting.readable(str(experiment)) + (f", over {plotting.readable(baseline)}" if several else "")
        _beside(left, chosen, CLAIMED, PUBLIC)
        _beside(right, both, PUBLIC, DEVICE)
        left.set_title(f"{name}: {len(chosen)} claims, {chosen[PUBLIC].notna().sum()} timed here")
        right.set_title(f"{name}: {len(both)} timed by both clocks")
        left.set(xlabel="claimed speedup, on the archive's machine", ylabel="speedup here,\nby KernelBench's loop")
        right.set(xlabel="speedup here, by KernelBench's loop", ylabel="speedup here,\nby the device's clock")
        right.set_visible(len(both) > 0)
    legend_below(figure, axes, order=[*MEANINGS.values()])
    return figure


def _beside(axis: Axes, rows: pd.DataFrame, x: str, y: str) -> None:
    """One panel; answers without a value of `y` stand at the bottom, in a band of their own."""
    if not len(rows):
        return
    timed, untimed = rows[rows[y].notna()], rows[rows[y].isna()]
    (left, right), (low, high) = _ends(rows[x]), _ends(timed[y])
    log_axis(axis, left, right)
    log_axis(axis, low, high, which="y")
    ends = (max(left, low), min(right, high))
    axis.plot(ends, ends, label="both the same", **DIAGONAL)
    for line in (axis.axhline, axis.axvline):
        line(1, color="#bbbbbb", linewidth=0.8, zorder=1)
    if len(untimed):
        bottom = low / (high / low) ** (STRIP / (1 - STRIP))
        axis.set_yticks([tick for tick in axis.get_yticks() if tick >= low])  # the band has no numbers
        axis.set_ylim(bottom, high)
        axis.axhspan(bottom, low, color="#ededed", linewidth=0)
        # In the column of the axis's numbers: inside the panel it would lie on marks.
        place = {"xy": (0, STRIP / 2), "xycoords": "axes fraction", "textcoords": "offset points"}
        axis.annotate("no time", xytext=(-4, 0), ha="right", va="center", **place)  # type: ignore[arg-type]
        _marks(axis, untimed.assign(**{y: (bottom * low) ** 0.5}), x, y)
    _marks(axis, timed, x, y)


def _ends(values: pd.Series[Any]) -> tuple[float, float]:
    """Limits of an axis: all values, and 1, with some room."""
    found = [float(value) for value in values if value > 0]
    low, high = min([*found, 0.9]), max([*found, 1.1])
    room = max(1.25, (high / low) ** 0.04)  # no mark is cut, over however many decades
    return low / room, high * room


def _marks(axis: Axes, rows: pd.DataFrame, x: str, y: str) -> None:
    for word in _drawn_in_order(rows["standing"]):
        colour, marker = LOOKS[word]
        own = rows[rows["standing"] == word]
        edge: dict[str, Any] = {} if marker == "x" else {"edgecolors": "white"}
        look: dict[str, Any] = {"s": 26, "color": colour, "marker": marker, "linewidths": 1 if marker == "x" else 0.4}
        axis.scatter(own[x], own[y], label=MEANINGS[word], alpha=0.85, **look | edge)  # type: ignore[index]


def _drawn_in_order(words: pd.Series[Any]) -> Sequence[str]:
    """The most frequent first, so that the rare ones lie on top."""
    return [str(word) for word in words.value_counts().index]
