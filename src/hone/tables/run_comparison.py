"""Two runs beside each other: which problems each solves, and whose kernels and epochs are faster.

Both sides come from the CSV files alone. What has the same name in both is paired: problems by problem, so that a
difference of two experiments is not drowned by how hard their problems are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich import box
from rich.table import Table
from scipy.stats import binomtest

from hone.analysis.metrics import Interval, geometric_mean, geometric_mean_interval
from hone.tables.files import read_table
from hone.tables.kernelbench_fast_p import TABLE as FAST_P
from hone.tables.kernelbench_speedups import TABLE as SPEEDUPS
from hone.tables.salient_breakdown import TABLE as BREAKDOWN

GROUP = ["experiment", "model", "level", "baseline"]
TRAINED = ["training", "dataset", "model", "system", "gpus"]


@dataclass(frozen=True)
class AnswersCompared:
    """One experiment, model, level and baseline that both runs have."""

    key: tuple[str, ...]
    """Values of GROUP."""
    problems: int
    """Of the level; the larger number where the runs differ."""
    solved: tuple[int, int]
    """Problems with a correct answer in the first and in the second run."""
    only: tuple[int, int]
    """Problems that the first alone solves, and the second alone."""
    p_value: float
    """Two-sided, of McNemar's exact test: how often chance alone gives so uneven an `only`."""
    ratio: float
    """Geometric mean over the problems that both solve of the second run's best speedup over the first's; or NaN."""
    interval: Interval
    """Of the ratio, problems resampled; NaN with fewer than two."""


@dataclass(frozen=True)
class TrainingCompared:
    """One training that both runs have."""

    key: tuple[str, ...]
    """Values of TRAINED."""
    epoch_s: tuple[float, float]
    """Mean seconds of an epoch in the first and in the second run."""


def compare_answers(first: Path, second: Path, confidence: float = 0.95) -> list[AnswersCompared]:
    """A row for each group that both runs' tables have; raises RecordError for a folder without tables.

    `first`, `second`: folders of tables.
    """
    sizes = [read_table(FAST_P, folder).groupby(GROUP)["n"].max() for folder in (first, second)]
    best = [best_speedups(read_table(SPEEDUPS, folder)) for folder in (first, second)]
    shared = sizes[0].index.intersection(sizes[1].index, sort=False)
    return [
        paired(key, max(int(size[key]) for size in sizes), best[0].get(key, {}), best[1].get(key, {}), confidence)
        for key in shared
    ]


def best_speedups(table: pd.DataFrame) -> dict[tuple[str, ...], dict[str, float]]:
    """Values of GROUP -> problem -> speedup of its fastest correct answer; a doubtful time counts as none."""
    credited = table.assign(speedup=table["speedup"].where(table["findings"] == ""))
    best = credited.groupby([*GROUP, "definition"], sort=False)["speedup"].max().reset_index()
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for *key, problem, speedup in best.itertuples(index=False, name=None):
        found.setdefault(tuple(key), {})[problem] = speedup
    return found


def paired(
    key: tuple[str, ...], problems: int, one: Mapping[str, float], two: Mapping[str, float], confidence: float
) -> AnswersCompared:
    """Two sides on the same problems; each is the speedup of the fastest correct answer by problem, NaN where doubtful.

    A problem without a correct answer is not in it.
    """
    only = len(one.keys() - two.keys()), len(two.keys() - one.keys())
    pairs = [two[name] / one[name] for name in one if name in two]
    ratios = [ratio for ratio in pairs if ratio > 0]  # NaN where a time was doubtful
    p_value = float(binomtest(only[0], sum(only)).pvalue) if sum(only) else 1.0
    return AnswersCompared(
        key, problems, (len(one), len(two)), only, p_value, geometric_mean(ratios),
        geometric_mean_interval([ratios], confidence),
    )  # fmt: skip


def compare_trainings(first: Path, second: Path) -> list[TrainingCompared]:
    """A row for each training that both runs' tables have; raises RecordError for a folder without tables."""
    tables = [
        read_table(BREAKDOWN, folder).groupby(TRAINED, sort=False)["epoch_s"].mean() for folder in (first, second)
    ]
    shared = tables[0].index.intersection(tables[1].index, sort=False)
    return [TrainingCompared(key, (float(tables[0][key]), float(tables[1][key]))) for key in shared]


def comparison(first: Path, second: Path, confidence: float = 0.95) -> Iterator[Table]:
    """What the two runs' folders of tables have in common, for the terminal; raises RecordError."""
    if answers := compare_answers(first, second, confidence):
        yield _answer_table(answers)
    if trainings := compare_trainings(first, second):
        yield _training_table(trainings)


def _answer_table(rows: list[AnswersCompared]) -> Table:
    title = "Problems solved by the first and the second run, and the second's speedups over the first's"
    found = Table(*GROUP, title=title, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("n", "first", "second", "only first", "only second", "p", "speedup ratio (interval)"):
        found.add_column(name, justify="right")
    for row in rows:
        ratio = f"{row.ratio:.3g}{_bounds(row.interval)}" if row.ratio > 0 else ""
        numbers = (row.problems, *row.solved, *row.only)
        found.add_row(*map(str, row.key), *map(str, numbers), f"{row.p_value:.2g}", ratio)
    return found


def _bounds(interval: Interval) -> str:
    """In brackets; empty where there is none."""
    return "" if math.isnan(interval.low) else f" ({interval.low:.3g}–{interval.high:.3g})"


def _training_table(rows: list[TrainingCompared]) -> Table:
    found = Table(*TRAINED, title="Seconds of an epoch", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("first", "second", "second / first"):
        found.add_column(name, justify="right")
    for row in rows:
        one, two = row.epoch_s
        found.add_row(*map(str, row.key), f"{one:.4g}", f"{two:.4g}", f"{two / one:.3g}")
    return found
