"""The figures, each a function of one table as it stands in the CSV file; records are never read here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from hone.analysis import plotting
from hone.analysis.astra_figures import shapes_figure, trajectory_figure
from hone.analysis.frames import CATEGORIES
from hone.analysis.kernel_figures import kernels_figure
from hone.analysis.plotting import colours, distinct, grid, legend_below, markers, notice, share_axis
from hone.analysis.salient_curves import inference_figure, scaling_figure
from hone.analysis.salient_figures import breakdown_figure, ladder_figure, threads_figure, timeline_figure

CATEGORY_COLOURS = dict(
    zip(
        CATEGORIES,
        ("#009E73", "#8B1A1A", "#D55E00", "#E69F00", "#F0C75E", "#56B4E9", "#0072B2", "#7B4B94", "#CC79A7", "#BBBBBB"),
        strict=True,
    )
)
BAR_IN = 0.3


def draw(name: str, table: pd.DataFrame) -> Figure:
    """A figure by its name in FIGURES, of the table `table_of(name)`; one that says "no rows" for an empty table."""
    drawing = FIGURES[name]
    with mpl.rc_context(plotting.STYLE):
        figure = drawing.function(table) if len(table) else notice("no rows")
        figure.suptitle(drawing.title)
        return figure


def _shown_p(table: pd.DataFrame) -> list[float]:
    """Thresholds drawn where x is not p: 0 and 1, or the first two there are."""
    known = distinct(table["p"])
    return [p for p in (0.0, 1.0) if p in known] or known[:2]


class Look(NamedTuple):
    """How one line is drawn."""

    label: str
    colour: str
    marker: str
    style: str = "-"


def _curve(axis: Axes, rows: pd.DataFrame, x: str, look: Look) -> None:
    """Estimates with their band; where answers are unresolved only the worst-case band, hatched; paper's numbers."""
    places = rows[x].to_numpy(dtype=float)
    unresolved = rows["unresolved"].to_numpy() > 0
    axis.fill_between(places, rows["ci_low"], rows["ci_high"], color=look.colour, alpha=0.1, linewidth=0)
    if unresolved.any():
        axis.fill_between(
            *(places, rows["ci_low"], rows["ci_high"]),
            where=unresolved.tolist(),
            facecolor="none",
            edgecolor=look.colour,
            hatch="////",
            alpha=0.5,
            linewidth=0,
            label="some answers unresolved: bounds only",
        )
    line: dict[str, Any] = {
        "marker": look.marker,
        "color": look.colour,
        "label": look.label,
        "markersize": 4.5,
        "linewidth": 1.5,
    }
    axis.plot(places, rows["fast_p"], look.style, **line)
    printed = rows[rows["published"].notna()]
    if len(printed):
        label = f"{look.label}: published"
        hollow: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "linestyle": "none", "color": look.colour}
        axis.plot(printed[x], printed["published"], marker=look.marker, label=label, **hollow)


def _panels(table: pd.DataFrame) -> tuple[Figure, list[tuple[Axes, pd.DataFrame, str]], Any]:
    """Axes of experiment and baseline (down) by level (across), each with its rows of the subset `all`."""
    table = table[table["subset"] == "all"]
    rows = distinct(zip(table["experiment"], table["baseline"], strict=True))
    levels = sorted(distinct(table["level"]))
    figure, axes = grid(len(rows), len(levels))
    panels = []
    for down, (experiment, baseline) in enumerate(rows):
        for across, level in enumerate(levels):
            axis = axes[down, across]
            chosen = table[
                (table["experiment"] == experiment) & (table["baseline"] == baseline) & (table["level"] == level)
            ]
            if not len(chosen):
                axis.set_visible(False)
                continue
            title = f"{experiment}, level {level} (n = {chosen['n'].max()})"
            statistic = "" if "statistic" not in chosen else chosen["statistic"].iloc[0]
            axis.set_title(title if statistic in ("", "single answer") else f"{title}\n{statistic}")
            panels.append((axis, chosen, baseline))
    return figure, panels, axes


def fast_p_figure(table: pd.DataFrame) -> Figure:
    """fast_p against p, a line a model."""
    figure, panels, axes = _panels(table)
    models = distinct(table["model"])
    colour, marker = colours(models), markers(models)
    for axis, rows, baseline in panels:
        for model in distinct(rows["model"]):
            chosen = rows[rows["model"] == model].sort_values("p")
            _curve(axis, chosen, "p", Look(model, colour[model], marker[model]))
        axis.set_xticks(sorted(distinct(rows["p"])))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_xlabel(f"p: times as fast as {baseline}")
        share_axis(axis, "fast_p (share of problems)")
    _thin_ticks(panels)
    legend_below(figure, axes)
    return figure


def _thin_ticks(panels: list[tuple[Axes, pd.DataFrame, str]]) -> None:
    """Thresholds that lie close together get slanted labels."""
    for axis, _, _ in panels:
        places = np.asarray(axis.get_xticks(), dtype=float)
        span = float(np.ptp(places)) or 1.0
        if len(places) > 1 and float(np.diff(places).min()) / span < 0.09:
            axis.tick_params(axis="x", labelsize=7, rotation=60)


def _against(table: pd.DataFrame, x: str, label: str) -> Figure:
    """fast_p against k or turn: a colour a model, a line style a threshold."""
    figure, panels, axes = _panels(table)
    models = distinct(table["model"])
    colour, marker = colours(models), markers(models)
    for axis, rows, baseline in panels:
        for model in distinct(rows["model"]):
            for p, style in zip(_shown_p(table), ("-", "--"), strict=False):
                chosen = rows[(rows["model"] == model) & (rows["p"] == p)].sort_values(x)
                _curve(axis, chosen, x, Look(model, colour[model], marker[model], style))
        for p, style in zip(_shown_p(table), ("-", "--"), strict=False):
            faster = "faster than the baseline" if p == 1 else f"over {p:g} times as fast"
            meaning = "correct" if p == 0 else f"correct and {faster}"
            axis.plot([], [], style, color="#555555", label=meaning)
        if rows[x].max() > 20 and rows[x].min() > 0:
            _log_axis(axis, 0.9, rows[x].max() * 1.1)
        else:
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel(label)
        share_axis(axis, f"share of problems\n(baseline {baseline})")
    legend_below(figure, axes)
    return figure


def sampling_figure(table: pd.DataFrame) -> Figure:
    """fast_p@k against k; p = 0 is pass@k."""
    return _against(table, "k", "k: samples drawn")


def refinement_figure(table: pd.DataFrame) -> Figure:
    """fast_p of the best kernel so far against the turn."""
    return _against(table, "turn", "turn (0 is the first answer)")


def errors_figure(table: pd.DataFrame) -> Figure:
    """Stacked bars of outcomes, like the paper's Figure 2; of several turns the first and the last are drawn."""
    levels = sorted(distinct(table["level"]))
    if len(levels) == 2:
        levels.remove("all")
    experiments = distinct(table["experiment"])
    bars = {name: _bars(table[table["experiment"] == name]) for name in experiments}
    heights = [BAR_IN * len(bars[name]) + 0.75 for name in experiments]
    figure, axes = grid(len(experiments), len(levels), heights_in=heights, width_in=3.6)
    for down, name in enumerate(experiments):
        for across, level in enumerate(levels):
            rows = table[(table["experiment"] == name) & (table["level"] == level)]
            _stacked(axes[down, across], rows, bars[name], f"{name}, {_level(level)}", names=across == 0)
    legend_below(figure, axes, order=CATEGORIES)
    return figure


def _level(level: str) -> str:
    return "all levels" if level == "all" else f"level {level}"


def _bars(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """(model, turn) of each bar of an experiment."""
    turns = sorted(distinct(rows["turn"]))
    ends = distinct([turns[0], turns[-1]])
    return [(model, turn) for model in distinct(rows["model"]) for turn in ends]


def _stacked(axis: Axes, rows: pd.DataFrame, bars: list[tuple[str, int]], title: str, *, names: bool) -> None:
    answers = rows["answers"].max() if len(rows) else 0
    axis.set_title(f"{title}: {answers} answers")
    several_turns = len({turn for _, turn in bars}) > 1
    for place, (model, turn) in enumerate(bars):
        chosen = rows[(rows["model"] == model) & (rows["turn"] == turn)]
        counts = dict(zip(chosen["category"], chosen["count"], strict=True))
        shares = dict(zip(chosen["category"], chosen["share"], strict=True))
        left = 0.0
        for category in (category for category in CATEGORIES if category in counts):
            share, count = shares[category], counts[category]
            label = category if count else None
            axis.barh(place, share, left=left, color=CATEGORY_COLOURS[category], label=label, height=0.75)
            if share >= 0.07:
                middle = left + share / 2
                axis.text(middle, place, str(count), ha="center", va="center", fontsize=7, color=_ink(category))
            left += share
    axis.set_xlim(0, 1)
    axis.grid(axis="y", visible=False)
    labels = [f"{model}, turn {turn}" if several_turns else model for model, turn in bars]
    axis.set_yticks(range(len(bars)), labels if names else [""] * len(bars))
    axis.set_ylim(len(bars) - 0.4, -0.6)
    axis.set_xlabel("share of answers")


def _ink(category: str) -> str:
    """Black or white, whichever reads better on the category's colour."""
    red, green, blue = (int(CATEGORY_COLOURS[category][at : at + 2], 16) for at in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 120 else "white"


def speedups_figure(table: pd.DataFrame) -> Figure:
    """Every correct kernel as a dot, with quartiles and median, on a log axis; the line at 1 is the baseline."""
    rows = distinct(zip(table["experiment"], table["baseline"], strict=True))
    levels, models = sorted(distinct(table["level"])), distinct(table["model"])
    colour = colours(models)
    shown = {row: distinct(table[table["experiment"] == row[0]]["model"]) for row in rows}
    heights = [0.42 * len(shown[row]) + 0.95 for row in rows]
    figure, axes = grid(len(rows), len(levels), heights_in=heights, width_in=3.6)
    limits = (table["speedup"].min() / 1.3, table["speedup"].max() * 1.3)
    for down, (experiment, baseline) in enumerate(rows):
        for across, level in enumerate(levels):
            chosen = table[
                (table["experiment"] == experiment) & (table["baseline"] == baseline) & (table["level"] == level)
            ]
            axis = axes[down, across]
            _strips(axis, chosen, shown[experiment, baseline], colour)
            axis.set_title(f"{experiment}, level {level} ({len(chosen)} kernels)")
            axis.set_xlabel(f"speedup over {baseline} (log axis)")
            _log_axis(axis, min(limits[0], 0.7), max(limits[1], 1.4))
            if across:
                axis.set_yticklabels([])
    return figure


def _log_axis(axis: Axes, low: float, high: float) -> None:
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    steps = (1, 2, 5) if high / low < 300 else (1,)
    axis.xaxis.set_major_locator(LogLocator(subs=steps))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _strips(axis: Axes, rows: pd.DataFrame, models: list[str], colour: dict[str, str]) -> None:
    axis.axvline(1, color="#444444", linewidth=1, linestyle=":")
    for place, model in enumerate(models):
        values = rows[rows["model"] == model]["speedup"].to_numpy()
        if not len(values):
            continue
        spread = np.random.default_rng(0).uniform(-0.22, 0.22, len(values))
        axis.scatter(values, place + spread, s=11, color=colour[model], alpha=0.6, linewidths=0)
        if len(values) >= 4:
            axis.boxplot(
                values,
                positions=[place],
                orientation="horizontal",
                widths=0.55,
                showfliers=False,
                manage_ticks=False,
                medianprops={"color": "black"},
            )
    axis.set_yticks(range(len(models)), models)
    axis.set_ylim(len(models) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)


def llm_cost_figure(table: pd.DataFrame) -> Figure:
    """Dollars and tokens of each experiment and model; transcripts without counts are left out."""
    table = table[table["cost_usd"].notna()]
    if not len(table):
        return notice("only transcripts without token counts: nothing was paid for")
    labels = [f"{row.experiment}, {row.model} ({row.calls} calls)" for row in table.itertuples()]
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


def judge_cost_figure(table: pd.DataFrame) -> Figure:
    """Seconds by phase, where they were spent."""
    sums = table.groupby(["phase", "where"], sort=False)["seconds"].sum().unstack(fill_value=0)
    figure, axes = grid(1, 1, heights_in=[BAR_IN * len(sums) + 0.9], width_in=6.4)
    axis, left = axes[0, 0], np.zeros(len(sums))
    for where, colour in (("cpu", plotting.PALETTE[5]), ("gpu", plotting.PALETTE[1])):
        if where in sums:
            axis.barh(range(len(sums)), sums[where], left=left, color=colour, height=0.7, label=f"on {where.upper()}")
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


class Drawing(NamedTuple):
    """One figure."""

    title: str
    function: Callable[[pd.DataFrame], Figure]
    table: str = ""
    """What it is drawn from, where that has another name."""


FIGURES: dict[str, Drawing] = {
    "kernelbench_fast_p": Drawing("fast_p: correct and more than p times as fast", fast_p_figure),
    "kernelbench_errors": Drawing("Outcomes of the answers", errors_figure),
    "kernelbench_speedups": Drawing("Speedup of correct kernels", speedups_figure),
    "kernelbench_sampling": Drawing("Repeated sampling: best of k samples", sampling_figure),
    "kernelbench_refinement": Drawing("Iterative refinement: best kernel so far", refinement_figure),
    "astra_trajectory": Drawing("Speedup over the upstream kernel, round by round", trajectory_figure, "astra_rounds"),
    "astra_shapes": Drawing("The winning kernels on every workload", shapes_figure),
    "salient_timeline": Drawing("Who is busy when: the first batches of an epoch", timeline_figure),
    "salient_breakdown": Drawing("Where an epoch of training goes", breakdown_figure),
    "salient_ladder": Drawing("Each improvement on top of the one before", ladder_figure),
    "salient_threads": Drawing("Time to a prepared batch, by threads", threads_figure),
    "salient_inference": Drawing("Accuracy by the fan-out of inference", inference_figure),
    "salient_scaling": Drawing("Epoch time by number of processes", scaling_figure),
    "gnn_kernels": Drawing("Kernels of a campaign in the training loop", kernels_figure),
    "llm_cost": Drawing("Cost of the language models", llm_cost_figure),
    "judge_cost": Drawing("Time spent on builds and verdicts", judge_cost_figure),
}
"""By the figure's name."""


def table_of(name: str) -> str:
    """The table that a figure is drawn from; it has the figure's name unless it says otherwise."""
    return FIGURES[name].table or name
