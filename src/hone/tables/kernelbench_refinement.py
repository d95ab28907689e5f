"""kernelbench_refinement: fast_p of the best kernel up to each turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.groups import curves, groups
from hone.analysis.metrics import Estimate, Floats, best_so_far, mean_estimate
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import known, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One experiment, model, level, baseline, threshold and turn."""

    experiment: str
    """Name in the config."""
    model: str
    """Name in the config; `recorded/…` is a replayed transcript, never a live model's result."""
    level: str
    """KernelBench level, or `all` for the levels together."""
    turn: int
    """0 is the first answer; the paper's N is turn + 1."""
    p: float = EMPTY
    """Threshold: a kernel counts when it is correct and more than p times as fast."""
    n: int
    """Number of problems: the denominator."""
    fast_p: float = EMPTY
    """Share of problems, 0 to 1; empty where an answer is unresolved."""
    ci_low: float = EMPTY
    """Lower end of the confidence interval; with unresolved answers: if all of them failed."""
    ci_high: float = EMPTY
    """Upper end of the interval; with unresolved answers: if all of them succeeded."""
    unresolved: int
    """Answers without a verdict: not judged, machine broke, lost; or correct but not timed."""
    subset: str = ""
    """`all` problems, or the `sound` ones without a known defect."""
    baseline: str = ""
    """What the speedup is measured against."""
    published: float = EMPTY
    """The paper's share, 0 to 1."""
    published_source: str = ""
    """Where the paper prints it, and how exactly."""


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
    """What further turns give, over all groups."""
    correct = [row for row in rows if row.subset == "all" and row.p == 0 and row.baseline == rows[0].baseline]
    groups = {(row.experiment, row.model, row.level): row.turn for row in correct}
    first = [row.fast_p for row in correct if row.turn == 0]
    last = [row.fast_p for row in correct if row.turn == groups[row.experiment, row.model, row.level]]
    if not first or len(known([*first, *last])) < len(first) + len(last):
        return ""
    before, after = (percent(sum(values) / len(values)) for values in (first, last))
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
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "level": "Level",
        "turn": "Turn",
        "p": "p",
        "fast_p": "fast_p",
        "ci_low": "from",
        "ci_high": "to",
    },
    figures=(Figure("kernelbench_refinement", "Iterative refinement: best kernel so far", figure),),
)
