"""The figures of accuracy against the fan-out of inference, and of epoch time against the number of processes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hone.analysis.plotting import (
    MARKERS,
    PALETTE,
    NothingToShow,
    colours,
    distinct,
    grid,
    legend_below,
    markers,
    readable,
)
from hone.analysis.salient import FULL_BATCH
from hone.analysis.salient_accuracy import FULL, MEAN
from hone.analysis.salient_figures import counted_axis, plain_log_axis, some

POINTS = 100.0
GREYS = ("#4D4D4D", "#000000", "#7A6A4F", "#6B6B8C", "#5C7A5C")
LINE_IN = 0.16
"""Height of a line of text."""
PRINTED = "published: "
"""How lines of times that are not ours are called."""
SETUP = ["model", "fanouts", "batch_size", "hidden"]
ASIDE = 0.07
"""Steps by which models stand beside each other at one fan-out."""


def inference_figure(table: pd.DataFrame) -> Figure:
    """Test accuracy against the fan-out of inference: mean and deviation over seeds, a line a model."""
    table = some(table, table["split"] == "test")
    table = some(table, table["system"] != FULL_BATCH)
    panels = [rows for _, rows in table.groupby(["dataset", "training", "gpus"], sort=False)]
    lines = distinct(zip(table["model"], table["system"], strict=True))
    names = {line: line[0] if table["system"].nunique() == 1 else f"{line[0]}, {line[1]}" for line in lines}
    colour, marker = colours(list(names.values())), markers(list(names.values()))
    across = min(2, len(panels))
    figure, axes = grid(math.ceil(len(panels) / across), across, width_in=4.2)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, rows in zip(axes.flat, panels, strict=False):
        fanouts = sorted(distinct(rows["fanout"]), key=reach)
        here = distinct(zip(rows["model"], rows["system"], strict=True))
        for index, line in enumerate(here):
            chosen = rows[(rows["model"] == line[0]) & (rows["system"] == line[1])]
            name, shift = names[line], ASIDE * (index - (len(here) - 1) / 2)
            _accuracy_line(axis, chosen, fanouts, shift, name, colour[name], marker[name])
        first = rows.iloc[0]
        axis.set_xticks(range(len(fanouts)), fanouts, rotation=30 if len(fanouts) > 4 else 0)
        axis.set_xlabel("neighbours taken in inference, by hop")
        axis.set_ylabel(f"{first['split']} accuracy (%)\naxis does not start at 0")
        axis.set_title(f"{first['dataset']} ({first['nodes']} nodes, training {first['training']})")
    legend_below(figure, axes)
    return figure


def reach(fanout: str) -> tuple[float, str]:
    """Order of fan-outs: by the neighbours along one path, all of them last."""
    if fanout == FULL:
        return math.inf, "~"
    return math.prod(math.inf if part == "-1" else int(part) for part in fanout.split(",")), fanout


def _accuracy_line(
    axis: Axes, rows: pd.DataFrame, fanouts: list[str], shift: float, name: str, colour: str, marker: str
) -> None:
    """Mean and standard deviation of one model, each seed as a faint dot, the paper's number hollow."""
    seeds, means = rows[rows["seed"] != MEAN], rows[rows["seed"] == MEAN]
    places = [fanouts.index(fanout) + shift for fanout in means["fanout"]]
    means = means.assign(place=places).sort_values("place")
    dots = [fanouts.index(fanout) + shift for fanout in seeds["fanout"]]
    axis.plot(dots, POINTS * seeds["accuracy"], ".", color=colour, alpha=0.35, markersize=4)
    several = f" (mean of {int(means['seeds'].max())} seeds, deviation)" if means["seeds"].max() > 1 else ""
    error = POINTS * means["accuracy_std"].fillna(0)
    style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.2, "capsize": 2}
    axis.errorbar(means["place"], POINTS * means["accuracy"], yerr=error, label=name + several, **style)
    printed = means[means["published"].notna()]
    if len(printed):
        hollow: dict[str, Any] = {"markersize": 10, "markerfacecolor": "none", "linestyle": "none", "color": colour}
        label = f"{name}: published"
        axis.plot(printed["place"], POINTS * printed["published"], marker=marker, label=label, **hollow)


def scaling_figure(table: pd.DataFrame) -> Figure:
    """Seconds an epoch against GPUs, both on log axes: ours filled, others' published points hollow.

    Only what scales and has the same model, fan-outs, batch and width; the table has the rest.
    """
    ours = table[table["origin"] == "measured"]
    ours = ours[ours.groupby(["dataset", "training", "system", *SETUP])["gpus"].transform("nunique") > 1]
    if not len(ours):
        raise NothingToShow("one number of processes alone: nothing to compare")
    datasets = distinct(ours["dataset"])
    figure, axes = grid(len(datasets), 1, heights_in=[3.8] * len(datasets), width_in=7.2)
    for axis, dataset in zip(axes.flat, datasets, strict=True):
        measured = ours[ours["dataset"] == dataset]
        setups = {tuple(row) for row in measured[SETUP].to_numpy()}
        printed = table[(table["dataset"] == dataset) & (table["origin"] == "published")]
        printed = printed.loc[[tuple(row) in setups for row in printed[SETUP].to_numpy()]]
        words = _measured(axis, measured), _printed(axis, printed)
        counted_axis(axis, pd.concat([measured["gpus"], printed["gpus"]]))
        plain_log_axis(axis)
        _direct_labels(axis, *words)
        axis.set_xlabel(f"{_what(measured)} (log axis)")
        axis.set_ylabel("seconds an epoch (log axis)")
        settings = "; ".join(f"{model}, fan-out {fanouts}, batch {batch:g}" for model, fanouts, batch, _ in setups)
        axis.set_title(f"{readable(dataset)}: {settings}\nfilled: measured here; hollow: published; dotted: linear")
    return figure


class Word(NamedTuple):
    """A line's name, and the point that it stands beside."""

    text: str
    gpus: float
    epoch_s: float
    colour: str


def _what(measured: pd.DataFrame) -> str:
    return "GPUs" if (measured["driver"] != "").any() else "processes"


def _measured(axis: Axes, rows: pd.DataFrame) -> list[Word]:
    """A line for each of our systems, and a dotted one for linear scaling."""
    words = []
    groups = list(rows.groupby(["training", "system", *SETUP], sort=False))
    for index, (_, group) in enumerate(groups):
        line = group.sort_values("gpus")
        shade, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
        style: dict[str, Any] = {"color": shade, "marker": marker, "markersize": 6, "linewidth": 2, "capsize": 2}
        axis.errorbar(line["gpus"], line["epoch_s"], yerr=line["epoch_std_s"].fillna(0), **style)
        ideal = line["epoch_s"].iloc[0] * line["gpus"].iloc[0] / line["gpus"]
        axis.plot(line["gpus"], ideal, ":", color=shade, linewidth=1)
        first = line.iloc[0]
        twice = (rows["system"] == first["system"]).sum() > len(line)
        told = f"{first['system']}, {first['training']}" if twice else first["system"]
        words.append(Word(f"Hone {readable(told)}\n{first['hardware']}", first["gpus"], first["epoch_s"], shade))
    return words


def _printed(axis: Axes, rows: pd.DataFrame) -> list[Word]:
    """Published points, in greys; those of one source alone are joined: between sources the hardware changes."""
    words = []
    for index, (system, group) in enumerate(rows.groupby("system", sort=False)):
        shade = GREYS[index % len(GREYS)]
        style: dict[str, Any] = {"color": shade, "markerfacecolor": "none", "markersize": 6, "linewidth": 1}
        style |= {"linestyle": "--", "marker": MARKERS[-1 - index % len(MARKERS)]}
        by_gpus = group.sort_values("gpus")
        for _, line in by_gpus.groupby(by_gpus["published_source"].str.partition(": ")[0], sort=False):
            axis.plot(line["gpus"], line["published"], label=f"{PRINTED}{system}", **style)
        last = by_gpus.iloc[-1]
        cards = distinct(by_gpus["hardware"].str.extract(r"^\d+ ([^,-]+)", expand=False).dropna())
        told = f" ({', '.join(card for card in cards if card != 'GPUs')})"
        words.append(Word(f"{system}{told if len(told) > 3 else ''}", last["gpus"], last["published"], shade))
    return words


def _direct_labels(axis: Axes, ours: list[Word], printed: list[Word]) -> None:
    """Names instead of a legend: ours before the first points, others' in a column behind the last."""
    for word in ours:
        style: dict[str, Any] = {"va": "center", "ha": "right", "fontsize": 9, "color": word.colour}
        axis.annotate(word.text, (word.gpus, word.epoch_s), xytext=(-8, 0), textcoords="offset points", **style)
    low, high = axis.get_ylim()
    step, place = (high / low) ** (LINE_IN / 3.0), 0.0
    column = 1.15 * max((word.gpus for word in printed), default=1)
    leader = {"arrowstyle": "-", "color": "#AAAAAA", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 5}
    for word in sorted(printed, key=lambda word: word.epoch_s):
        place = max(word.epoch_s, place * step)
        style = {"va": "center", "fontsize": 8, "color": word.colour, "arrowprops": leader}
        axis.annotate(word.text, (word.gpus, word.epoch_s), xytext=(column, place), **style)
    first = min(word.gpus for word in ours)
    axis.set_xlim(0.35 * first, column * 2.6 if printed else None)
