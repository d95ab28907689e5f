"""The figures of the Astra tables: speedup by round, and the winners on every workload."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from hone.analysis.frames import CATEGORY
from hone.analysis.plotting import colours, distinct, grid, legend_below, markers
from hone.analysis.trajectories import NOT_ASKED, NOT_EVALUATED
from hone.records import Status

COLUMNS = 3
"""Kernels side by side."""
UPSTREAM_COLOUR, CURRENT_COLOUR = "#8C8C8C", "#000000"
ASIDE = 0.08
"""Rounds by which runs stand beside each other, so that equal ones can be told apart."""
OPEN = [status for status, category in CATEGORY.items() if category in ("unresolved", "correct")]
"""Statuses that, without a speedup, leave open what a version earned."""
EVERYWHERE, SUITE = "all workloads", "the suite"
"""What the speedups of a trajectory may be on."""
BOTTOM = 0.05
"""Where failures are marked, as a share of the axis: they have no speedup."""


def _label(rows: pd.DataFrame) -> str:
    """Experiment and model; the model says whether a transcript was replayed."""
    first = rows.iloc[0]
    return f"{first['experiment']}: {first['model']}"


def _runs(table: pd.DataFrame) -> list[tuple[str, str]]:
    return distinct(zip(table["experiment"], table["model"], strict=True))


def _of_run(table: pd.DataFrame, run: tuple[str, str]) -> pd.DataFrame:
    return table[(table["experiment"] == run[0]) & (table["model"] == run[1])]


def trajectory_figure(table: pd.DataFrame) -> Figure:
    """A panel a kernel: every version's speedup, and the winner so far; failures at the bottom.

    Speedups are on all workloads, or on the suite for a run that has its winner alone evaluated.
    """
    kernels = distinct(table["kernel"])
    runs = [f"{experiment}/{model}" for experiment, model in _runs(table)]
    colour, marker = colours(runs), markers(runs)
    across = min(COLUMNS, len(kernels))
    figure, axes = grid(math.ceil(len(kernels) / across), across)
    for axis in axes.flat[len(kernels) :]:
        axis.set_visible(False)
    for axis, kernel in zip(axes.flat, kernels, strict=False):
        chosen = table[table["kernel"] == kernel]
        axis.axhline(1, color="#444444", linewidth=1, linestyle=":")
        here = _runs(chosen)
        shown: set[str] = set()
        for index, run in enumerate(here):
            rows = _of_run(chosen, run).sort_values(["turn", "sample"], kind="stable")
            rows = rows.assign(turn=rows["turn"] + ASIDE * (index - (len(here) - 1) / 2))
            rows, over = _shown(rows)
            shown.add(over)
            name = "/".join(run)
            label = _label(rows) if over == EVERYWHERE else f"{_label(rows)}, on {SUITE}"
            _trajectory(axis, rows, label, colour[name], marker[name])
        _published(axis, chosen)
        axis.set_title(kernel)
        axis.set_xlabel("round (0 is the upstream kernel)")
        axis.set_ylabel(f"speedup on {' or '.join(sorted(shown))}")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        _room_below(axis)
    legend_below(figure, axes)
    return figure


def _shown(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """A trajectory with the speedups that all its versions have, and what these are on."""
    if not (rows["status"] == NOT_EVALUATED).any():
        return rows, EVERYWHERE
    return rows.assign(speedup=rows["suite_speedup"], status=rows["suite_status"]), SUITE


def _trajectory(axis: Axes, rows: pd.DataFrame, label: str, colour: str, marker: str) -> None:
    """Versions as points, what would be taken after each round as a step line, the winner with a ring."""
    timed = rows[rows["speedup"].notna()]
    best = _best_so_far(rows)
    axis.step(best["turn"], best["speedup"], where="post", color=colour, linewidth=1.5, alpha=0.8)
    points: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 5}
    axis.plot(timed["turn"], timed["speedup"], label=label, **points)
    won = timed[timed["won"]]
    ring: dict[str, Any] = {"color": colour, "marker": "o", "linestyle": "none", "markerfacecolor": "none"}
    axis.plot(won["turn"], won["speedup"], markersize=11, label="winner by the suite (line: winner so far)", **ring)
    lost = rows[rows["speedup"].isna() & (rows["status"] != NOT_ASKED)]
    open_ones = lost["status"].isin(OPEN)
    below = axis.get_xaxis_transform()
    for marks, symbol, words in (
        (lost[~open_ones], "x", "failed"),
        (lost[open_ones], "$?$", "no verdict, or no credited time"),
    ):
        places = marks["turn"].to_numpy()
        if len(places):
            points |= {"marker": symbol, "markersize": 6, "transform": below}
            axis.plot(places, [BOTTOM] * len(places), label=words, **points)


def _best_so_far(rows: pd.DataFrame) -> pd.DataFrame:
    """For each turn the version that would be taken after it: the fastest by the suite; upstream where none passed."""
    taken: list[dict[str, Any]] = []
    best = rows.iloc[:1]
    for turn in distinct(rows["turn"]):
        after_first = rows["turn"] > rows["turn"].iloc[0]
        written = rows[(rows["turn"] <= turn) & after_first & rows["suite_speedup"].notna()]
        if len(written):
            best = written.sort_values("suite_speedup", ascending=False, kind="stable").iloc[:1]
        taken.append({"turn": turn, "speedup": best["speedup"].iloc[0]})
    return pd.DataFrame(taken)


def _published(axis: Axes, rows: pd.DataFrame) -> None:
    """The paper's final speedups, one dashed line for each method."""
    printed = rows[rows["published"].notna()].drop_duplicates(["method", "published"])
    for method, style in (("astra", "--"), ("astra_single", "-.")):
        for value in printed[printed["method"] == method]["published"]:
            axis.axhline(value, color="#555555", linewidth=1, linestyle=style, label=f"{method}: published")


def _room_below(axis: Axes) -> None:
    """Room for the marks of failures under the lowest value; the line at 1 is always in view."""
    low, high = axis.get_ylim()
    low, high = min(low, 0.95), max(high, 1.05)
    axis.set_ylim(low - 0.15 * (high - low), high + 0.04 * (high - low))


def shapes_figure(table: pd.DataFrame) -> Figure:
    """A row a kernel: speedup over upstream, and the share of the copy bandwidth, against the bytes moved."""
    kernels = distinct(table["kernel"])
    runs = [f"{experiment}/{model}" for experiment, model in _runs(table)]
    colour, marker = colours(runs), markers(runs)
    with_floor = bool(table["bandwidth_share"].notna().any())
    figure, axes = grid(len(kernels), 2 if with_floor else 1, width_in=4.2)
    for down, kernel in enumerate(kernels):
        chosen = table[table["kernel"] == kernel]
        over = chosen[chosen["baseline"] == "upstream"]
        axes[down, 0].axhline(1, color="#444444", linewidth=1, linestyle=":")
        axes[down, 0].set_ylabel("speedup over upstream")
        for run in _runs(over):
            name = "/".join(run)
            _by_bytes(axes[down, 0], _of_run(over, run), "speedup", colour[name], marker[name])
        _room_below(axes[down, 0])
        if with_floor:
            _shares(axes[down, 1], chosen, colour, marker)
        for axis in axes[down]:
            axis.set_title(kernel)
            _bytes_axis(axis, table)
    for axis in axes[:-1].flat:
        axis.set_xlabel("")
    legend_below(figure, axes)
    return figure


def _by_bytes(axis: Axes, rows: pd.DataFrame, column: str, colour: str, marker: str) -> None:
    """One run's workloads: filled where the prompts showed them, hollow where held out, a cross where it failed."""
    style: dict[str, Any] = {"color": colour, "linestyle": "none", "markersize": 5}
    for held_out, words in ((False, ""), (True, ", held out")):
        part = rows[(rows["held_out"] == held_out) & rows[column].notna()]
        if len(part):
            fill = "none" if held_out else colour
            axis.plot(part["bytes"], part[column], marker, markerfacecolor=fill, label=_label(part) + words, **style)
    failed = rows[rows["status"] != Status.PASSED]
    if len(failed) and column == "speedup":
        below = axis.get_xaxis_transform()
        axis.plot(failed["bytes"], [BOTTOM] * len(failed), "x", transform=below, label="failed or no verdict", **style)


def _shares(axis: Axes, rows: pd.DataFrame, colour: dict[str, str], marker: dict[str, str]) -> None:
    """Share of the copy bandwidth: of the winners, and of what they are compared with."""
    axis.axhline(1, color="#444444", linewidth=1, linestyle=":", label="the floor: copying the bytes once")
    for baseline, shade, symbol in (("upstream", UPSTREAM_COLOUR, "."), ("current", CURRENT_COLOUR, "+")):
        part = rows[(rows["baseline"] == baseline) & rows["baseline_us"].notna()]
        part = part.drop_duplicates(["workload"])
        if len(part):
            share = part["floor_us"] / part["baseline_us"]
            axis.plot(part["bytes"], share, symbol, color=shade, markersize=5, linestyle="none", label=baseline)
    own = rows[rows["baseline"] == "upstream"]
    for run in _runs(own):
        name = "/".join(run)
        _by_bytes(axis, _of_run(own, run), "bandwidth_share", colour[name], marker[name])
    axis.set_ylim(0, max(1.05, axis.get_ylim()[1]))
    axis.set_ylabel("floor / time")


def _bytes_axis(axis: Axes, table: pd.DataFrame) -> None:
    axis.set_xscale("log")
    axis.set_xlim(table["bytes"].min() / 1.5, table["bytes"].max() * 1.5)
    axis.xaxis.set_major_locator(LogLocator())
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(EngFormatter(unit="B"))
    axis.set_xlabel("bytes moved at least (log axis)")
