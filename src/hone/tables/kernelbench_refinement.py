"""kernelbench_refinement: fast_p of the best kernel up to each turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.groups import curves, groups
from hone.analysis.metrics import Estimate, Floats, best_so_far, mean_estimate
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.thresholds import HEADINGS, layout_by, mean_of
from hone.tables.words import is_known, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One experiment, model, level, baseline, threshold and turn."""

    experiment: columns.Experiment
    model: columns.LanguageModel
    level: columns.Level
    turn: columns.Turn
    p: columns.Threshold = EMPTY
    n: columns.Problems
    fast_p: columns.FastP = EMPTY
    ci_low: columns.ShareLow = EMPTY
    ci_high: columns.ShareHigh = EMPTY
    unresolved: columns.Unresolved
    subset: columns.Subset = ""
    baseline: columns.Baseline = ""
    published: columns.PublishedShare = EMPTY
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """Of experiments with several turns."""
    found: list[Row] = []
    for group in groups(run.frame, run.context.settings):
        if group.turns == 1:
            continue
        provenance = run.context.provenance.columns(group.rows)
        for turn in range(group.turns):

            def score(outcome: Floats, confidence: float, turn: int = turn) -> Estimate:
                return mean_estimate(best_so_far(outcome)[:, :, turn], confidence)

            for cells in curves(group, run.context, score, "fast_p@turn", turn + 1):
                found.append(Row.pick(cells | provenance, turn=turn))
    return found


def finding(rows: Sequence[Row]) -> str:
    """What further turns give, over all problems of all groups."""
    correct = [row for row in rows if row.subset == "all" and row.p == 0 and row.baseline == rows[0].baseline]
    groups = {(row.experiment, row.model, row.level): row.turn for row in correct}
    first = [row for row in correct if row.turn == 0]
    last = [row for row in correct if row.turn == groups[row.experiment, row.model, row.level]]
    if not first or not all(is_known(row.fast_p) for row in [*first, *last]):
        return ""
    before, after = percent(mean_of(first)), percent(mean_of(last))
    return f"After the first turn {before} of the problems have a correct kernel, after the last turn {after}."


def figure(table: pd.DataFrame) -> Drawn:
    """A curve over turns for each model and threshold."""
    from hone.analysis.kernelbench_figures import refinement_figure

    return refinement_figure(table)


TABLE = RunTable(
    name="kernelbench_refinement",
    title="Iterative refinement: fast_p of the best kernel up to each turn",
    caption=(
        "Iterative refinement: fast_p of the best kernel up to each turn. Each turn's prompt holds the last answer "
        "and, by experiment, what happened when it ran."
    ),
    category="KernelBench",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout_by("experiment", "model", "level", "turn"),
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "level": "Level",
        "turn": "Turn",
        "n": "Problems",
        **HEADINGS,
    },
    figures=(Figure("kernelbench_refinement", "Iterative refinement: best kernel so far", figure),),
)
