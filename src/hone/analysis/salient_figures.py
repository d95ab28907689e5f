"""The figures of the SALIENT tables about time on one machine: timeline, breakdown, ladder, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hone.analysis.plotting import PALETTE, colours, distinct, grid, legend_below, markers, outer_labels

STAGE_COLOURS = {"prepare": "#E69F00", "transfer": "#009E73", "train": "#0072B2", "blocked": "#D9D9D9"}
STAGE_NAMES = {
    "prepare": "preparing a batch: sampling and slicing",
    "transfer": "copy to the device",
    "train": "training step",
    "blocked": "no step to do",
}
BAR_IN, LANE_IN = 0.34, 0.26
LABELLED = 0.018
"""Bars from this share of the axis on have room for the number of their batch."""
PANEL_COLUMNS = ["dataset", "training", "model", "gpus"]
"""What the rows of one panel share."""


def some(table: pd.DataFrame, wanted: pd.Series[bool]) -> pd.DataFrame:
    """The wanted rows, or all where there are none of them."""
    return table[wanted] if wanted.any() else table


def panel_title(rows: pd.DataFrame) -> str:
    """`arxiv, sage, 1 GPU (training ladder)`; a CPU is called so."""
    first = rows.iloc[0]
    return f"{first['dataset']}, {first['model']}, {processes(first)} (training {first['training']})"


def processes(row: Any) -> str:
    """`2 GPUs`, or `CPU` where there was no GPU driver."""
    kind = "GPU" if row["driver"] else "CPU process"
    several = "es" if kind.endswith("s") else "s"
    return f"{row['gpus']} {kind}{several if row['gpus'] != 1 else ''}"


def timeline_figure(table: pd.DataFrame) -> Figure:
    """A panel a system, a lane for everyone who was busy, a bar for each stage of each batch with its number.

    Trainings with one system alone are left out where others compare several.
    """
    table = some(table, table.groupby(PANEL_COLUMNS)["system"].transform("nunique") > 1)
    panels = [rows for _, rows in table.groupby(["dataset", "training", "model", "gpus", "system"], sort=False)]
    heights = [LANE_IN * rows["lane"].nunique() + 0.75 for rows in panels]
    figure, axes = grid(len(panels), 1, heights_in=heights, width_in=8.0)
    longest = max(_lasted_ms(rows) for rows in panels)
    for axis, rows in zip(axes.flat, panels, strict=True):
        _lanes(axis, rows, longest)
        axis.set_title(f"{rows['system'].iloc[0]}: {panel_title(rows)}", loc="left")
        axis.set_xlim(0, longest * 1.01)
    outer_labels(axes, "", "")
    axes.flat[-1].set_xlabel("milliseconds since the first of these batches began; numbers are batches")
    shown = [stage for stage in STAGE_COLOURS if stage in set(table["stage"])]
    _stage_legend(figure, shown)
    return figure


def _stage_legend(figure: Figure, stages: list[str]) -> None:
    figure.set_figheight(figure.get_figheight() + 0.3)
    handles = [Patch(facecolor=STAGE_COLOURS[stage], label=STAGE_NAMES[stage]) for stage in stages]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(stages), fontsize=8)


def _lasted_ms(rows: pd.DataFrame) -> float:
    return float((rows["start_ms"] + rows["duration_ms"]).max() - rows["start_ms"].min())


def _lanes(axis: Axes, rows: pd.DataFrame, longest: float) -> None:
    lanes = sorted(distinct(rows["lane"]), key=_lane_order)
    begin = rows["start_ms"].min()
    for row in rows.to_dict("records"):
        place, start, lasted = lanes.index(row["lane"]), row["start_ms"] - begin, row["duration_ms"]
        style: dict[str, Any] = {"color": STAGE_COLOURS[row["stage"]], "edgecolor": "white", "linewidth": 0.4}
        axis.barh(place, lasted, left=start, height=0.8, **style)
        if lasted > LABELLED * longest:
            ink = "white" if row["stage"] == "train" else "black"
            axis.text(start + lasted / 2, place, str(row["batch"]), ha="center", va="center", fontsize=6, color=ink)
    axis.set_yticks(range(len(lanes)), lanes)
    axis.set_ylim(len(lanes) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)


def _lane_order(lane: str) -> tuple[int, int, str]:
    """Workers by number, then the copies, the training loop and the GPU: the way of a batch."""
    kinds = ("worker", "copy", "main", "gpu")
    number = "".join(filter(str.isdigit, lane))
    kind = lane.rstrip("0123456789")
    return kinds.index(kind) if kind in kinds else len(kinds), int(number or 0), lane


def breakdown_figure(table: pd.DataFrame) -> Figure:
    """Left the seconds of an epoch, ours; right the shares of an epoch, with the paper's beside them.

    Trainings with one system alone are left out where others compare several.
    """
    table = some(table, table.groupby(PANEL_COLUMNS)["system"].transform("nunique") > 1)
    panels = [rows for _, rows in table.groupby(PANEL_COLUMNS, sort=False)]
    heights = [BAR_IN * (len(rows) + len(printed_epochs(rows))) + 1.0 for rows in panels]
    figure, axes = grid(len(panels), 2, heights_in=heights, width_in=4.6)
    for down, rows in enumerate(panels):
        _seconds(axes[down, 0], rows)
        _shares(axes[down, 1], rows)
        axes[down, 0].set_title(f"{panel_title(rows)}: mean of {_epochs(rows)} epochs", loc="left")
    for axis in axes[:-1].flat:
        axis.set_xlabel("")
    legend_below(figure, axes)
    return figure


PRINTED_PARTS = {
    "published_train_s": "train",
    "published_blocked_batch_s": "prepare",
    "published_blocked_transfer_s": "transfer",
}
"""Column -> the stage whose colour it has."""
PRINTED_NAMES = ("paper: train", "paper: sampling + slicing", "paper: transfer")
WAITS, WORKS = "no step to do: waiting for a batch", "the rest: training steps"
ONE_WORKER = ("pyg", "pyg_gpu", "wholegraph")
"""Systems whose `prepare_s` is one thread's or the GPU's, whatever `threads` says."""
MARKED = (("train_s", "d", "training, by the device's clock"), ("transfer_s", ">", "copies"))


def _seconds(axis: Axes, rows: pd.DataFrame) -> None:
    """Bars of waiting and the rest; marks for the work of each stage, hidden or not."""
    places = np.arange(len(rows))
    waits = rows["blocked_s"].to_numpy()
    rest = np.maximum(rows["epoch_s"].to_numpy() - waits, 0)
    axis.barh(places, rest, color=STAGE_COLOURS["train"], alpha=0.55, height=0.62, label=WORKS)
    error = rows["epoch_std_s"].fillna(0).to_numpy()
    style = {"ecolor": "#444444", "capsize": 2, "elinewidth": 1}
    axis.barh(
        places, waits, left=rest, xerr=error, color=STAGE_COLOURS["prepare"], height=0.62, label=WAITS, error_kw=style
    )
    for name, marker, label in MARKED:
        axis.plot(rows[name], places, marker, color="black", markersize=4.5, label=label, markerfacecolor="none")
    axis.plot(
        seconds_a_worker(rows),
        places,
        "|",
        color="#8B1A1A",
        markersize=11,
        markeredgewidth=2,
        label="preparing, seconds per worker",
    )
    axis.set_yticks(places, rows["system"])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlim(left=0)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("seconds an epoch (whisker: standard deviation)")


def seconds_a_worker(rows: pd.DataFrame) -> pd.Series[float]:
    """Seconds of preparing batches of each of a row's workers: threads, or processes."""
    return rows["prepare_s"] / rows["threads"].clip(lower=1).where(~rows["system"].isin(ONE_WORKER), 1)


def _epochs(rows: pd.DataFrame) -> str:
    least, most = int(rows["epochs"].min()), int(rows["epochs"].max())
    return str(least) if least == most else f"{least} to {most}"


def _shares(axis: Axes, rows: pd.DataFrame) -> None:
    """Shares of an epoch; below ours those that the paper measured, hatched."""
    names: list[str] = []
    for row in rows.to_dict("records"):
        waits = row["blocked_share"]
        names.append(f"{row['system']}: {_percent(waits)} waiting")
        _share_bar(axis, len(names) - 1, [(1 - waits, "train", WORKS), (waits, "prepare", WAITS)])
    for row in printed_epochs(rows).to_dict("records"):
        shares = [row[part] / row["published"] for part in PRINTED_PARTS]
        names.append(f"{_printed_name(row)}, {row['published']:.3g} s: {_percent(sum(shares[1:]))} waiting")
        parts = list(zip(shares, PRINTED_PARTS.values(), PRINTED_NAMES, strict=True))
        _share_bar(axis, len(names) - 1, parts, hatch="////")
    axis.set_yticks(range(len(names)), names, fontsize=7.5)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0, 1)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("share of the epoch")


def printed_epochs(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose epoch the paper printed with its parts, each printed epoch once."""
    known = rows[rows["published"].notna() & rows["published_train_s"].notna()]
    return known.drop_duplicates("published_source")


def _printed_name(row: Any) -> str:
    """`paper: SALIENT, 1 V100-32GB`, out of the source."""
    return "paper: " + str(row["published_source"]).partition(": ")[2].rpartition(" (")[0]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _share_bar(axis: Axes, place: int, parts: list[tuple[float, str, str]], hatch: str = "") -> None:
    left = 0.0
    for share, stage, label in parts:
        style: dict[str, Any] = {"hatch": hatch, "edgecolor": "white"} if hatch else {}
        alpha = 0.55 if stage == "train" else 1.0
        axis.barh(place, share, left=left, color=STAGE_COLOURS[stage], alpha=alpha, height=0.62, label=label, **style)
        left += share


def ladder_figure(table: pd.DataFrame) -> Figure:
    """Left the seconds of an epoch at each rung; right the speedup over the first, with the paper's as diamonds."""
    panels = [rows for _, rows in table.groupby(PANEL_COLUMNS, sort=False)]
    heights = [BAR_IN * len(rows) + 1.0 for rows in panels]
    figure, axes = grid(len(panels), 2, heights_in=heights, width_in=4.2)
    for down, rows in enumerate(panels):
        places = np.arange(len(rows))
        error = rows["epoch_std_s"].fillna(0)
        style = {"ecolor": "#444444", "capsize": 2, "elinewidth": 1}
        axes[down, 0].barh(places, rows["epoch_s"], xerr=error, color=PALETTE[0], height=0.62, error_kw=style)
        _numbers(axes[down, 0], rows["epoch_s"] + error, [f"{value:.3g} s" for value in rows["epoch_s"]])
        axes[down, 0].set_xlabel(f"seconds an epoch (mean of {_epochs(rows)}; whisker: deviation)")
        axes[down, 1].barh(places, rows["speedup"], color=PALETTE[5], height=0.62)
        _numbers(axes[down, 1], rows["speedup"], [f"{value:.2f}×" for value in rows["speedup"]])
        _printed_speedups(axes[down, 1], rows)
        axes[down, 1].axvline(1, color="#444444", linewidth=1, linestyle=":")
        axes[down, 1].set_xlabel(f"speedup over {rows['reference'].iloc[0]}")
        for axis, names in ((axes[down, 0], list(rows["rung"])), (axes[down, 1], [""] * len(rows))):
            axis.set_yticks(places, names)
            axis.set_ylim(len(rows) - 0.4, -0.6)
            axis.grid(axis="y", visible=False)
        axes[down, 0].set_title(panel_title(rows), loc="left")
    legend_below(figure, axes)
    return figure


def _numbers(axis: Axes, ends: pd.Series[float], texts: list[str]) -> None:
    """Values of bars, written in a column at the right."""
    axis.set_xlim(0, (float(ends.max()) or 1.0) * 1.05)
    for place, text in enumerate(texts):
        axis.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=7.5)


def _printed_speedups(axis: Axes, rows: pd.DataFrame) -> None:
    """The paper's rungs over its own first, on its own hardware."""
    printed = rows["published"].to_numpy()
    first = printed[(rows["rung"] == rows["reference"]).to_numpy()]
    if not len(first) or not np.isfinite(first[0]):
        return
    speedups = first[0] / printed
    label = "the paper's speedup on its own machine"
    axis.plot(speedups, np.arange(len(rows)), "D", color="black", markerfacecolor="none", markersize=6, label=label)
    axis.set_xlim(0, max(axis.get_xlim()[1], 1.05 * float(np.nanmax(speedups))))


def threads_figure(table: pd.DataFrame) -> Figure:
    """Milliseconds to a prepared batch against threads: median and range of the rounds, a line a system; log axes.

    Dotted: as if threads shared the work of the least of them without loss.
    """
    graphs = distinct(table["graph"])
    systems = distinct(table["system"])
    colour, marker = colours(systems), markers(systems)
    figure, axes = grid(1, len(graphs), width_in=4.0)
    for axis, graph in zip(axes.flat, graphs, strict=True):
        chosen = table[table["graph"] == graph]
        for system in distinct(chosen["system"]):
            rows = chosen[chosen["system"] == system].sort_values("threads")
            style: dict[str, Any] = {"color": colour[system], "marker": marker[system], "markersize": 5, "capsize": 2}
            spread = [rows["batch_ms"] - rows["batch_ms_low"], rows["batch_ms_high"] - rows["batch_ms"]]
            error = [part.fillna(0) for part in spread]
            axis.errorbar(rows["threads"], rows["batch_ms"], yerr=error, label=system, **style)
            ideal = rows["batch_ms"].iloc[0] * rows["threads"].iloc[0] / rows["threads"]
            axis.plot(rows["threads"], ideal, ":", color=colour[system], linewidth=1)
        axis.plot([], [], ":", color="#555555", linewidth=1, label="linear from the least threads")
        counted_axis(axis, chosen["threads"])
        plain_log_axis(axis)
        axis.set_xlabel("threads (log axis)")
        axis.set_ylabel("ms a batch (log axis)")
        axis.set_title(f"{graph}: fan-out {chosen['fanouts'].iloc[0]}, batch {chosen['batch_size'].iloc[0]:g}")
    legend_below(figure, axes)
    return figure


def counted_axis(axis: Axes, values: pd.Series[float]) -> None:
    """A horizontal log axis of whole numbers with a tick at each."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(sorted(distinct(values)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def plain_log_axis(axis: Axes) -> None:
    """A vertical log axis with numbers as people write them."""
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 300 else (1,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
