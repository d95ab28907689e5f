"""kernelbench_sampling: fast_p@k and pass@k of repeated answers to the same prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.groups import curves, groups
from hone.analysis.metrics import Estimate, Floats, estimate_at_k
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.thresholds import HEADINGS, layout_by, mean_of
from hone.tables.words import is_known, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

SMALL_K = 10


class Row(TableRow):
    """One experiment, model, level, baseline, threshold and number of samples."""

    experiment: columns.Experiment
    model: columns.LanguageModel
    level: columns.Level
    k: int
    """Number of samples drawn."""
    p: columns.Threshold = EMPTY
    n: columns.Problems
    fast_p: columns.FastP = EMPTY
    ci_low: columns.ShareLow = EMPTY
    ci_high: columns.ShareHigh = EMPTY
    unresolved: columns.Unresolved
    metric: str = ""
    """`pass@k` at p = 0, else `fast_p@k`."""
    samples: int
    """Answers per problem."""
    subset: columns.Subset = ""
    baseline: columns.Baseline = ""
    published: columns.PublishedShare = EMPTY
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """Of experiments with several samples and one turn."""
    found: list[Row] = []
    for group in groups(run.frame, run.context.settings):
        if group.samples == 1 or group.turns > 1:
            continue
        provenance = run.context.provenance.columns(group.rows)
        for k in k_values(group.samples):

            def score(outcome: Floats, confidence: float, k: int = k) -> Estimate:
                return estimate_at_k(outcome[:, :, 0], k, confidence)

            for cells in curves(group, run.context, score, "fast_p@k", k):
                metric = "pass@k" if cells["p"] == 0 else "fast_p@k"
                found.append(Row.pick(cells | provenance, samples=group.samples, k=k, metric=metric))
    return found


def k_values(samples: int) -> list[int]:
    """The k of fast_p@k: all up to ten, then 20, 50, 100, 200, …, and the number of samples."""
    decades = [step * 10**power for power in range(1, 6) for step in (1, 2, 5)]
    return sorted({k for k in [*range(1, SMALL_K + 1), *decades, samples] if k <= samples})


def finding(rows: Sequence[Row]) -> str:
    """What drawing more samples gives, over all problems of all groups."""
    correct = [row for row in rows if row.subset == "all" and row.p == 0 and row.baseline == rows[0].baseline]
    most = min(row.samples for row in correct) if correct else 1
    one, several = ([row for row in correct if row.k == k] for k in (1, most))
    if not one or not all(is_known(row.fast_p) for row in [*one, *several]):
        return ""
    first, last = percent(mean_of(one)), percent(mean_of(several))
    return f"One answer is correct for {first} of the problems, the best of {most} answers for {last}."


def figure(table: pd.DataFrame) -> Drawn:
    """A curve over k for each model and threshold."""
    from hone.analysis.kernelbench_figures import sampling_figure

    return sampling_figure(table)


TABLE = RunTable(
    name="kernelbench_sampling",
    title="Repeated sampling: fast_p@k and pass@k",
    caption=(
        "Repeated sampling: the chance that the best of *k* answers to the same prompt is correct (pass@k), or correct "
        "and more than *p* times as fast (fast_p@k), with a confidence interval."
    ),
    category="KernelBench",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout_by("experiment", "model", "level", "k"),
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "level": "Level",
        "k": "k",
        "n": "Problems",
        **HEADINGS,
    },
    figures=(Figure("kernelbench_sampling", "Repeated sampling: best of k samples", figure),),
)
