"""The KernelBench tables: functions from the frame of all answers to rows.

`gold` experiments judge the references themselves, `files` experiments what lies in a folder; they have tables of
their own (accounting.py, exploits.py) and are left out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hone.analysis.frames import CATEGORIES
from hone.analysis.metrics import (
    Estimate,
    Floats,
    best_so_far,
    estimate_at_k,
    geometric_mean,
    mean_estimate,
    outcomes,
)
from hone.analysis.paper_numbers import Matcher
from hone.analysis.provenance import Provenance
from hone.config import UNPROMPTED, Settings
from hone.records import TORCH_BASELINES

Row = dict[str, Any]
SMALL_K = 10


@dataclass(frozen=True)
class Context:
    """What every table needs beside the frame."""

    settings: Settings
    provenance: Provenance
    matcher: Matcher
    baselines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Definition -> what it can be measured against beside PyTorch: its existing kernels."""

    def baselines_of(self, definitions: Iterable[str]) -> list[str]:
        """The config's baselines that one of the definitions has, in the config's order."""
        known = {*TORCH_BASELINES, *(name for item in definitions for name in self.baselines.get(item, ()))}
        return [baseline for baseline in self.settings.baselines if baseline in known]

    @property
    def confidence(self) -> float:
        """Confidence of the intervals."""
        return self.settings.analysis.confidence


@dataclass(frozen=True)
class Group:
    """All answers of one experiment and model on one level, or on its sound problems."""

    experiment: str
    model: str
    method: str
    level: str
    subset: str
    rows: pd.DataFrame
    """Sorted by problem, sample, turn; complete."""
    samples: int
    turns: int

    @property
    def problems(self) -> int:
        """Number of problems: the denominator."""
        return len(self.rows) // (self.samples * self.turns)

    def cube(self, column: str) -> Any:
        """A column as an array of shape (problems, samples, turns)."""
        return self.rows[column].to_numpy().reshape(self.problems, self.samples, self.turns)

    def outcomes(self, baseline: str, p: float) -> Floats:
        """Shape (problems, samples, turns); see metrics.outcomes.

        What counts is the credited speedup: a correct kernel whose time is doubtful is not faster at any p > 0.
        """
        return outcomes(self.cube("correct"), self.cube(f"credited_{baseline}"), self.cube("resolved"), p)


def prompted(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of answers by a model."""
    return frame[~frame["method"].isin(UNPROMPTED)]


def groups(frame: pd.DataFrame, settings: Settings) -> Iterator[Group]:
    """Groups by experiment, model and level, each for all and for the sound problems; empty ones are left out."""
    frame = prompted(frame)
    for (name, model, level), rows in frame.groupby(["experiment", "model", "level"], sort=False):
        experiment = settings.experiments[str(name)]
        ordered = rows.sort_values(["number", "sample", "turn"], kind="stable")
        for subset, chosen in (("all", ordered), ("sound", ordered[ordered["sound"].astype(bool)])):
            if len(chosen):
                yield Group(
                    *(str(name), str(model), experiment.method, str(level), subset, chosen),
                    samples=experiment.samples,
                    turns=experiment.turns,
                )


def _estimated(p: float, group: Group, found: Estimate) -> Row:
    return {
        "experiment": group.experiment,
        "model": group.model,
        "method": group.method,
        "level": group.level,
        "subset": group.subset,
        "p": p,
        "n": group.problems,
        "fast_p": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "unresolved": found.unresolved,
    }


def _curves(
    group: Group, context: Context, score: Callable[[Floats, float], Estimate], metric: str, number: int | None
) -> Iterator[Row]:
    """One row for each baseline and threshold; `score` gets the outcomes (problems, samples, turns) and p."""
    at_zero: Estimate | None = None
    for baseline in context.baselines_of(group.rows["definition"].unique()):
        for p in context.settings.analysis.thresholds:
            if p == 0 and at_zero is not None:
                found = at_zero
            else:
                found = score(group.outcomes(baseline, p), context.confidence)
            at_zero = found if p == 0 else at_zero
            place = (group.experiment, group.model, group.level, metric, p, number, baseline)
            published = context.matcher.find(*place) if group.subset == "all" else {}
            yield _estimated(p, group, found) | {"baseline": baseline} | published


def fast_p_rows(frame: pd.DataFrame, context: Context) -> list[Row]:
    """kernelbench_fast_p: the single answer, the mean over repeated samples, or the best kernel of all turns."""
    rows: list[Row] = []
    for group in groups(frame, context.settings):
        metric, number = ("fast_p@turn", group.turns) if group.turns > 1 else ("fast_p", None)
        further = context.provenance.columns(group.rows) | {
            "statistic": _statistic(group),
            "prompt_differs": int(group.rows["prompt_differs"].sum()),
            "doubtful": int((group.rows["findings"] != "").sum()),
        }
        baselines = context.baselines_of(group.rows["definition"].unique())
        means = {baseline: _geomean(group, baseline) for baseline in baselines}
        for row in _curves(group, context, _score_last, metric, number):
            published = {} if group.samples == 1 else {"published": np.nan, "published_source": ""}
            rows.append(row | further | published | {"geomean_speedup": means[row["baseline"]]})
    return rows


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


def k_values(samples: int) -> list[int]:
    """The k of fast_p@k: all up to ten, then 20, 50, 100, 200, …, and the number of samples."""
    decades = [step * 10**power for power in range(1, 6) for step in (1, 2, 5)]
    return sorted({k for k in [*range(1, SMALL_K + 1), *decades, samples] if k <= samples})


def sampling_rows(frame: pd.DataFrame, context: Context) -> list[Row]:
    """kernelbench_sampling: experiments with several samples and one turn."""
    rows: list[Row] = []
    for group in groups(frame, context.settings):
        if group.samples == 1 or group.turns > 1:
            continue
        further = context.provenance.columns(group.rows) | {"samples": group.samples}
        for k in k_values(group.samples):

            def score(outcome: Floats, confidence: float, k: int = k) -> Estimate:
                return estimate_at_k(outcome[:, :, 0], k, confidence)

            for row in _curves(group, context, score, "fast_p@k", k):
                metric = "pass@k" if row["p"] == 0 else "fast_p@k"
                rows.append(row | further | {"k": k, "metric": metric})
    return rows


def refinement_rows(frame: pd.DataFrame, context: Context) -> list[Row]:
    """kernelbench_refinement: fast_p of the best kernel up to each turn."""
    rows: list[Row] = []
    for group in groups(frame, context.settings):
        if group.turns == 1:
            continue
        further = context.provenance.columns(group.rows)
        for turn in range(group.turns):

            def score(outcome: Floats, confidence: float, turn: int = turn) -> Estimate:
                return mean_estimate(best_so_far(outcome)[:, :, turn], confidence)

            rows += [row | further | {"turn": turn} for row in _curves(group, context, score, "fast_p@turn", turn + 1)]
    return rows


def error_rows(frame: pd.DataFrame, context: Context) -> list[Row]:
    """kernelbench_errors: every category, also those without an answer; level `all` is the levels together."""
    frame = prompted(frame)
    together = frame.assign(level="all")
    rows: list[Row] = []
    for part in (frame, together):
        for (name, model, level, turn), answers in part.groupby(["experiment", "model", "level", "turn"], sort=False):
            counts = answers["category"].value_counts()
            place = {"experiment": str(name), "model": str(model), "level": str(level), "turn": turn}
            further = context.provenance.columns(answers) | {"answers": len(answers)}
            single = context.settings.experiments[str(name)].turns == 1
            for category in CATEGORIES:
                count = int(counts.get(category, 0))
                metric = f"category:{category}"
                published = context.matcher.find(str(name), str(model), str(level), metric) if single else {}
                counted = {"category": category, "count": count, "share": count / len(answers)}
                rows.append(place | counted | further | published)
    return rows


def speedup_rows(frame: pd.DataFrame, context: Context) -> list[Row]:
    """kernelbench_speedups: one row for each correct timed kernel and baseline, with what makes a time doubtful."""
    answers = prompted(frame)
    correct = answers[answers["correct"].astype(bool)]
    return [
        speeds | {"level": str(item["level"])}
        for item in correct.to_dict("records")
        for speeds in timed_rows(item, context)
    ]


def timed_rows(item: dict[Any, Any], context: Context, *, untimed: bool = False) -> Iterator[Row]:
    """A row of the frame once for each baseline that it was timed against; `untimed` keeps the others too."""
    for baseline in context.baselines_of([item["definition"]]):
        names = ("speedup", "speedup_low", "speedup_high", "baseline_ms")
        speeds = {name: item[f"{name}_{baseline}"] for name in names}
        if untimed or not np.isnan(speeds["speedup"]):
            yield item | context.provenance.columns(item) | speeds | {"baseline": baseline}
