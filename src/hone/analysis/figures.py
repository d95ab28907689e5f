"""The figures, each a function of one table as it stands in the CSV file; records are never read here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from hone.analysis import plotting
from hone.analysis.astra_figures import shapes_figure, trajectory_figure
from hone.analysis.kernel_figures import kernels_figure
from hone.analysis.kernelbench_figures import (
    errors_figure,
    fast_p_figure,
    refinement_figure,
    sampling_figure,
    speedups_figure,
)
from hone.analysis.plotting import grid, legend_below, notice
from hone.analysis.salient_curves import inference_figure, scaling_figure
from hone.analysis.salient_figures import breakdown_figure, ladder_figure, threads_figure, timeline_figure

BAR_IN = 0.3


def draw(name: str, table: pd.DataFrame) -> Figure:
    """A figure by its name in FIGURES, of the table `table_of(name)`; one that says "no rows" for an empty table."""
    drawing = FIGURES[name]
    with mpl.rc_context(plotting.STYLE):
        figure = drawing.function(table) if len(table) else notice("no rows")
        figure.suptitle(drawing.title)
        return figure


def llm_cost_figure(table: pd.DataFrame) -> Figure:
    """Dollars and tokens of each experiment and model; transcripts without counts are left out."""
    table = table[table["cost_usd"].notna()]
    if not len(table):
        return notice("only transcripts without token counts: nothing was paid for")
    labels = [
        f"{plotting.readable(row['experiment'])}, {plotting.model_name(row['model'])} ({row['calls']} calls)"
        for row in table.to_dict("records")
    ]
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
    "kernelbench_fast_p": Drawing("Correct, and more than p times as fast as the baseline", fast_p_figure),
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
