"""The figures of accuracy against the fan-out of inference, and of epoch time against the number of processes."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hone.analysis.plotting import MARKERS, PALETTE, colours, distinct, grid, legend_below, markers, notice
from hone.analysis.salient import FULL_BATCH
from hone.analysis.salient_accuracy import FULL, MEAN
from hone.analysis.salient_figures import counted_axis, plain_log_axis, some

POINTS = 100.0
GREYS = ("#8C8C8C", "#4D4D4D", "#B8A888")
PRINTED = "published: "
"""How the legend marks times that are not ours."""
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
        axis.set_xlabel("neighbours taken in inference, from the seeds outwards")
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

    Graphs that were trained on with one number of GPUs alone are left out.
    """
    table = table[table.groupby("dataset")["gpus"].transform("nunique") > 1]
    if not len(table):
        return notice("one number of processes alone: nothing to compare")
    datasets = distinct(table["dataset"])
    figure, axes = grid(len(datasets), 1, heights_in=[3.6] * len(datasets), width_in=8.4)
    for axis, dataset in zip(axes.flat, datasets, strict=True):
        rows = table[table["dataset"] == dataset]
        measured = rows[rows["origin"] == "measured"]
        _measured(axis, measured)
        _printed(axis, rows[rows["origin"] == "published"], {tuple(row) for row in measured[SETUP].to_numpy()})
        counted_axis(axis, rows["gpus"])
        plain_log_axis(axis)
        axis.set_xlabel(f"{_what(measured)} (log axis)")
        axis.set_ylabel("seconds an epoch (log axis)")
        axis.set_title(f"{dataset}: measured on {', '.join(distinct(measured['hardware']))}")
    ours = [label for axis in axes.flat for label in axis.get_legend_handles_labels()[1] if PRINTED not in label]
    legend_below(figure, axes, order=distinct(ours))
    return figure


def _what(measured: pd.DataFrame) -> str:
    return "GPUs" if (measured["driver"] != "").any() else "processes"


def _measured(axis: Axes, rows: pd.DataFrame) -> None:
    """A line for each of our systems, and a dotted one for linear scaling."""
    groups = list(rows.groupby(["training", "system", *SETUP], sort=False))
    for index, ((training, system, model, fanouts, *_), group) in enumerate(groups):
        line = group.sort_values("gpus")
        shade, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
        label = f"{system}, {model} {fanouts} ({training})"
        style: dict[str, Any] = {"color": shade, "marker": marker, "markersize": 6, "linewidth": 1.5, "capsize": 2}
        axis.errorbar(line["gpus"], line["epoch_s"], yerr=line["epoch_std_s"].fillna(0), label=label, **style)
        if len(line) > 1:
            ideal = line["epoch_s"].iloc[0] * line["gpus"].iloc[0] / line["gpus"]
            axis.plot(line["gpus"], ideal, ":", color=shade, linewidth=1)


def _printed(axis: Axes, rows: pd.DataFrame, ours: set[tuple[Any, ...]]) -> None:
    """Published points: coloured where model, fan-outs, batch and width are ours, grey where they are not."""
    coloured = 0
    keys = ["system", *SETUP]
    groups: list[tuple[Any, pd.DataFrame]] = list(rows.groupby(keys, sort=False, dropna=False))
    for index, ((system, *setup), group) in enumerate(groups):
        same = tuple(setup) in ours
        shade = PALETTE[-1 - coloured % len(PALETTE)] if same else GREYS[index // len(MARKERS) % len(GREYS)]
        coloured += same
        told = "same settings" if same else f"{setup[0]} {setup[1]}" + (f" / {setup[2]:g}" if setup[2] > 0 else "")
        style: dict[str, Any] = {"color": shade, "markerfacecolor": "none", "markersize": 6 if same else 4.5}
        style |= {"linewidth": 1 if same else 0.6, "linestyle": "--", "marker": MARKERS[index % len(MARKERS)]}
        # Points of one source alone are joined: between sources the hardware changes.
        by_gpus = group.sort_values("gpus")
        for _, line in by_gpus.groupby(by_gpus["published_source"].str.partition(": ")[0], sort=False):
            axis.plot(line["gpus"], line["published"], label=f"{PRINTED}{system}, {told}", **style)
