"""The figures of the KernelBench tables: small multiples with one pair of axes, labelled at the edge alone."""

from __future__ import annotations

from typing import Any

import pandas as pd
import seaborn as sns  # type: ignore[import-untyped]
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hone.analysis.plotting import (
    SERIES,
    colours,
    distinct,
    grid,
    ink,
    legend_below,
    log_axis,
    markers,
    model_name,
    outer_labels,
    readable,
    share_axis,
    spaced,
)

PANEL_IN, HEIGHT_IN, BARS_IN = 2.6, 1.9, 5.0
BAR_IN, DIGIT_IN, LEAST_PANEL_IN = 0.21, 0.065, 0.75
FEW = 5
"""Below so many problems an interval is nearly the whole axis: whiskers, not a band."""
OUTCOMES: dict[str, tuple[str, str]] = {
    "correct": ("correct", "#0068A8"),
    "value": ("wrong values", "#F0E442"),
    "shape": ("wrong shape", "#8C8A5C"),
    "runtime": ("crashed", "#E06C10"),
    "memory": ("out of memory", "#FFC9A3"),
    "timeout": ("timed out", "#7A2E00"),
    "compiler": ("does not compile", "#3F1A78"),
    "python": ("does not load", "#BCA3D9"),
    "no_code": ("no code", "#000000"),
    "unanswered": ("prompt refused", "#787878"),
    "unresolved": ("no verdict", "#C8C8C8"),
}
"""Category -> its name and colour, in the order of how far the answer came.

Blue is correct, yellow wrong, orange stopped, purple not built; in each family the lightness differs.
"""


def fast_p_figure(table: pd.DataFrame) -> Figure:
    """The share of problems solved more than p times as fast, against p; a line a model."""
    table = table[table["subset"] == "all"]
    figure, axes, panels = _panels(table, ["experiment", "baseline"])
    for axis, rows in panels:
        _curves(axis, rows, "p")
    axes[0, 0].set_xticks(spaced(distinct(table["p"])))
    axes[0, 0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    outer_labels(axes, f"p (times as fast as {_baseline(table)})", "share of problems")
    legend_below(figure, axes)
    return figure


def sampling_figure(table: pd.DataFrame) -> Figure:
    """fast_p@k against k; p = 0 is pass@k."""
    return _against(table, "k", "k: answers drawn to one prompt")


def refinement_figure(table: pd.DataFrame) -> Figure:
    """fast_p of the best kernel so far against the turn."""
    return _against(table, "turn", "turn (0 is the first answer)")


def best_of_turns_figure(table: pd.DataFrame) -> Figure:
    """The same with turns as the paper counts them, from 1."""
    return _against(table.assign(turn=table["turn"] + 1), "turn", "N: best of so many turns")


def _against(table: pd.DataFrame, x: str, label: str) -> Figure:
    """fast_p against k or turn: a line a model, a row of panels a threshold."""
    known = distinct(table["p"])
    shown = [threshold for threshold in (0.0, 1.0) if threshold in known] or known[:2]
    table = table[(table["subset"] == "all") & table["p"].isin(shown)]
    figure, axes, panels = _panels(table, ["experiment", "baseline", "p"])
    for axis, rows in panels:
        _curves(axis, rows, x)
    if table[x].max() > 20 and table[x].min() > 0:
        log_axis(axes[0, 0], 0.9, table[x].max() * 1.1)
    else:
        axes[0, 0].xaxis.set_major_locator(MaxNLocator(integer=True))
    keys = distinct(zip(table["experiment"], table["baseline"], table["p"], strict=True))
    outer_labels(axes, label, [_share(key[2], key[1]) for key in keys])
    legend_below(figure, axes)
    return figure


def _share(p: float, baseline: str) -> str:
    """What is counted at a threshold."""
    faster = "faster than" if p == 1 else f"over {p:g} times as fast as"
    return "share correct" if p == 0 else f"share correct and\n{faster} {readable(baseline)}"


def _panels(table: pd.DataFrame, down: list[str]) -> tuple[Figure, Any, list[tuple[Axes, pd.DataFrame]]]:
    """Axes of shape (what `down` tells apart, level), and those of them that have rows, with their rows."""
    rows = distinct(zip(*(table[name] for name in down), strict=True))
    levels = sorted(distinct(table["level"]))
    figure, axes = grid(len(rows), len(levels), heights_in=[HEIGHT_IN] * len(rows), width_in=PANEL_IN, share=True)
    share_axis(axes[0, 0], "")
    panels = []
    for place, key in enumerate(rows):
        for across, level in enumerate(levels):
            axis = axes[place, across]
            chosen = table[(table[down] == list(key)).all(axis="columns") & (table["level"] == level)]
            axis.set_visible(len(chosen) > 0)
            if len(chosen):
                axis.set_title(_title(chosen, several=table["baseline"].nunique() > 1))
                panels.append((axis, _named(chosen, table)))
    return figure, axes, panels


def _title(rows: pd.DataFrame, *, several: bool) -> str:
    """Experiment, level and size of the sample; below it what is not the same in all panels."""
    first = rows.iloc[0]
    below = [f"over {readable(first['baseline'])}"] if several else []
    if first.get("statistic", "single answer") not in ("", "single answer"):
        below.append(str(first["statistic"]))
    title = f"{readable(first['experiment'])}, level {first['level']} (n = {rows['n'].max()})"
    return "\n".join([title, *below])


def _named(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The rows with the colour and the marker that their model has in the whole table."""
    models = distinct(table["model"])
    return rows.assign(colour=rows["model"].map(colours(models)), marker=rows["model"].map(markers(models)))


def _baseline(table: pd.DataFrame) -> str:
    known = distinct(table["baseline"])
    return readable(known[0]) if len(known) == 1 else "the baseline"


def _curves(axis: Axes, rows: pd.DataFrame, x: str) -> None:
    """A line a model with its interval; hollow what the paper printed."""
    for model in distinct(rows["model"]):
        line = rows[rows["model"] == model].sort_values(x)
        label, colour, marker = model_name(model), line["colour"].iloc[0], line["marker"].iloc[0]
        _interval(axis, line, x, colour)
        sns.lineplot(
            line, x=x, y="fast_p", color=colour, marker=marker, label=label,
            errorbar=None, estimator=None, legend=False, ax=axis, markeredgewidth=0, **SERIES,
        )  # fmt: skip
        printed = line[line["published"].notna()]
        if len(printed):
            hollow: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "linestyle": "none", "color": colour}
            axis.plot(printed[x], printed["published"], marker=marker, label=f"{label}: published", **hollow)


def _interval(axis: Axes, line: pd.DataFrame, x: str, colour: str) -> None:
    """A band, or whiskers where problems are few; hatched where answers without a verdict leave bounds alone."""
    places, low, high = (line[name].to_numpy(dtype=float) for name in (x, "ci_low", "ci_high"))
    unresolved = line["unresolved"].to_numpy() > 0
    if line["n"].max() < FEW:
        axis.vlines(places, low, high, color=colour, linewidth=1, alpha=0.45)
    else:
        axis.fill_between(places, low, high, color=colour, alpha=0.13, linewidth=0)
    if unresolved.any():
        axis.fill_between(
            *(places, low, high), where=unresolved.tolist(), facecolor="none", edgecolor=colour, hatch="////",
            alpha=0.5, linewidth=0, label="some answers unresolved: bounds only",
        )  # fmt: skip


def errors_figure(table: pd.DataFrame) -> Figure:
    """Bars of outcomes, a panel an experiment and model; of several turns the first and the last are drawn."""
    levels = sorted(distinct(table["level"]))
    if len(levels) == 2:
        levels.remove("all")
    table = table[table["level"].isin(levels)]
    panels = [rows for _, rows in table.groupby(["experiment", "model"], sort=False)]
    bars = [_bars(rows) for rows in panels]
    heights = [max(BAR_IN * len(each) + 0.4, LEAST_PANEL_IN) for each in bars]
    figure, axes = grid(len(panels), 1, heights_in=heights, width_in=BARS_IN + 1.6)
    for axis, rows, shown in zip(axes.flat, panels, bars, strict=True):
        _stacked(axis, rows, shown)
        axis.set_title(f"{readable(rows['experiment'].iloc[0])}: {model_name(rows['model'].iloc[0])}", loc="left")
    outer_labels(axes, "share of answers (numbers: answers)", "")
    legend_below(figure, axes, order=[name for name, _ in OUTCOMES.values()])
    return figure


def _bars(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """(level, turn) of each bar of a panel."""
    turns = sorted(distinct(rows["turn"]))
    return [(level, turn) for level in sorted(distinct(rows["level"])) for turn in distinct([turns[0], turns[-1]])]


def _stacked(axis: Axes, rows: pd.DataFrame, bars: list[tuple[str, int]]) -> None:
    """One bar below the other, each from 0 to 1, with the number of answers where there is room for it."""
    wanted = pd.MultiIndex.from_tuples(bars, names=["level", "turn"])
    wide = rows.pivot(index=["level", "turn"], columns="category", values=["share", "count"]).reindex(wanted).fillna(0)
    left = pd.Series(0.0, index=wide.index)
    for category in (category for category in OUTCOMES if category in wide["share"]):
        shares, counts = wide["share", category], wide["count", category].astype(int)
        name, colour = OUTCOMES[category]
        label = name if counts.any() else None
        drawn = axis.barh(
            range(len(bars)), shares, left=left, color=colour, label=label, height=0.78, edgecolor="white", lw=0.5
        )
        pairs = zip(shares, counts, strict=True)
        shown = [str(count) if share * BARS_IN > DIGIT_IN * len(str(count)) else "" for share, count in pairs]
        axis.bar_label(drawn, shown, label_type="center", fontsize=7, color=ink(colour))
        left = left + shares
    answers = rows.groupby(["level", "turn"])["answers"].max()
    axis.set_yticks(range(len(bars)), [_bar_name(bar, bars, int(answers.get(bar, 0))) for bar in bars])
    axis.set_xlim(0, 1)
    axis.set_ylim(len(bars) - 0.4, -0.6)
    axis.grid(visible=False)


def _bar_name(bar: tuple[str, int], bars: list[tuple[str, int]], answers: int) -> str:
    level, turn = bar
    words = "all levels" if level == "all" else f"level {level}"
    several = len({turn for _, turn in bars}) > 1
    said = f", {'first answer' if turn == 0 else f'turn {turn}'}" if several else ""
    return f"{words}{said} (n = {answers})"


def speedups_figure(table: pd.DataFrame) -> Figure:
    """Every correct kernel as a dot, with quartiles and median, on a log axis; the line at 1 is the baseline."""
    panels = distinct(zip(table["experiment"], table["baseline"], strict=True))
    levels, models = sorted(distinct(table["level"])), distinct(table["model"])
    shown = {panel: distinct(table[table["experiment"] == panel[0]]["model"]) for panel in panels}
    heights = [0.34 * len(shown[panel]) + 0.65 for panel in panels]
    figure, axes = grid(len(panels), len(levels), heights_in=heights, width_in=PANEL_IN)
    low, high = min(table["speedup"].min() / 1.3, 0.7), max(table["speedup"].max() * 1.3, 1.4)
    for down, (experiment, baseline) in enumerate(panels):
        of_panel = table[(table["experiment"] == experiment) & (table["baseline"] == baseline)]
        for axis, level in zip(axes[down], levels, strict=True):
            chosen = of_panel[of_panel["level"] == level]
            _strips(axis, chosen, shown[experiment, baseline], colours(models))
            over = f"\nover {readable(baseline)}" if table["baseline"].nunique() > 1 else ""
            axis.set_title(f"{readable(experiment)}, level {level} (n = {len(chosen)}){over}")
            log_axis(axis, low, high)
    outer_labels(axes, f"times as fast as\n{_baseline(table)} (log axis)", "")
    return figure


def _strips(axis: Axes, rows: pd.DataFrame, models: list[str], colour: dict[str, str]) -> None:
    axis.axvline(1, color="#444444", linewidth=1, linestyle=":")
    for place, model in enumerate(models):
        values = rows[rows["model"] == model]["speedup"].to_numpy()
        spread = [place + 0.22 * (2 * ((7 * index) % 10) / 9 - 1) for index in range(len(values))]
        axis.scatter(values, spread, s=11, color=colour[model], alpha=0.6, linewidths=0)
        if len(values) >= 4:
            box: dict[str, Any] = {"positions": [place], "widths": 0.55, "medianprops": {"color": "black"}}
            axis.boxplot(values, orientation="horizontal", showfliers=False, manage_ticks=False, **box)
    axis.set_yticks(range(len(models)), [model_name(model) for model in models])
    axis.set_ylim(len(models) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
