"""kernelbench_fast_p: share of problems whose kernel is correct and more than p times as fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hone.analysis.context import Context
from hone.analysis.groups import Group, curves, groups
from hone.analysis.metrics import Estimate, Floats, best_so_far, geometric_mean, mean_estimate
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.thresholds import HEADINGS, layout_by
from hone.tables.words import is_known, share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One experiment, model, level, baseline and threshold."""

    experiment: columns.Experiment
    model: columns.LanguageModel
    method: columns.Method
    level: columns.Level
    subset: columns.Subset
    baseline: columns.Baseline
    p: columns.Threshold = EMPTY
    n: columns.Problems
    fast_p: columns.FastP = EMPTY
    ci_low: columns.ShareLow = EMPTY
    ci_high: columns.ShareHigh = EMPTY
    unresolved: columns.Unresolved
    doubtful: int
    """Correct answers whose time is doubtful (see findings): not faster at any p > 0."""
    statistic: str = ""
    """What one problem contributes."""
    geomean_speedup: float = EMPTY
    """Geometric mean of the speedup of correct timed kernels (of the best turn)."""
    prompt_differs: columns.PromptsDiffer
    published: columns.PublishedShare = EMPTY
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """The single answer, the mean over repeated samples, or the best kernel of all turns."""
    return rows_of(run.frame, run.context)


def rows_of(frame: pd.DataFrame, context: Context) -> list[Row]:
    """The same of a frame of `analysis.frames`."""
    found: list[Row] = []
    for group in groups(frame, context.settings):
        metric, number = ("fast_p@turn", group.turns) if group.turns > 1 else ("fast_p", None)
        shared = context.provenance.columns(group.rows) | {
            "statistic": _statistic(group),
            "prompt_differs": int(group.rows["prompt_differs"].sum()),
            "doubtful": int((group.rows["findings"] != "").sum()),
        }
        baselines = context.baselines_of(group.rows["definition"].unique())
        means = {baseline: _geomean(group, baseline) for baseline in baselines}
        for cells in curves(group, context, _score_last, metric, number):
            published = {} if group.samples == 1 else {"published": EMPTY, "published_source": ""}
            found.append(Row(**cells | shared | published, geomean_speedup=means[cells["baseline"]]))
    return found


def _score_last(outcome: Floats, confidence: float) -> Estimate:
    return mean_estimate(best_so_far(outcome)[:, :, -1], confidence)


def _statistic(group: Group) -> str:
    parts = [f"best of {group.turns} turns"] if group.turns > 1 else []
    parts += [f"mean of {group.samples} samples"] if group.samples > 1 else []
    return ", ".join(parts) or "single answer"


def _geomean(group: Group, baseline: str) -> float:
    """Of the best correct timed kernel of each (problem, sample); those without a credited speedup are left out."""
    speedup = group.cube(f"credited_{baseline}").astype(float)
    best = np.where(np.isnan(speedup) | (speedup == 0), -np.inf, speedup).max(axis=2)
    return geometric_mean(best[np.isfinite(best)])


def finding(rows: Sequence[Row]) -> str:
    """The experiment, model and level with the highest fast_1 over the first baseline; empty without p = 1."""
    chosen = [row for row in rows if row.subset == "all" and row.baseline == rows[0].baseline]
    faster = [row for row in chosen if row.p == 1]
    known = [row for row in faster if is_known(row.fast_p)]
    if not known:
        return "No experiment has all its verdicts, so that fast_p has bounds alone." if faster else ""
    best = max(known, key=lambda row: row.fast_p)
    correct = [row for row in chosen if row.p == 0 and _place(row) == _place(best)]
    right = f"{share_of(correct[0].fast_p, best.n, 'problems')} correct, " if correct else ""
    quick = share_of(best.fast_p, best.n, "problems")
    others = f"; the best of {len(known)} experiments, models and levels" if len(known) > 1 else ""
    place = f"{best.model} in `{best.experiment}`, level {best.level}"
    return f"{place}: {right}{quick} faster than `{best.baseline}`{others}."


def _place(row: Row) -> tuple[str, str, str]:
    return row.experiment, row.model, row.level


def figure(table: pd.DataFrame) -> Drawn:
    """A curve over p for each model."""
    from hone.analysis.kernelbench_figures import fast_p_figure

    return fast_p_figure(table)


TABLE = RunTable(
    name="kernelbench_fast_p",
    title="fast_p: share of problems whose kernel is correct and more than p times as fast",
    caption=(
        "Share of problems whose kernel is correct and more than *p* times as fast as the baseline (fast_p), for each "
        "experiment, model and level. The confidence interval is a band in the figure, or whiskers below five "
        "problems. Every problem of a level is in the denominator. Where an answer has no verdict, the share is left "
        "open. The interval then says what it would be if all such answers failed or succeeded; the figure hatches it. "
        "`published` is the paper's number."
    ),
    category="KernelBench",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout_by("experiment", "model", "level"),
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "level": "Level",
        "n": "Problems",
        **HEADINGS,
        "published": "Published fast_1",
    },
    figures=(Figure("kernelbench_fast_p", "Correct, and more than p times as fast as the baseline", figure),),
)
