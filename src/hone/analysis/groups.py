"""Answers by experiment, model and level, and what the KernelBench tables compute of such a group.

`gold` experiments judge the references themselves, `files` experiments what lies in a folder; they have tables of
their own and are left out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hone.analysis.context import Cells, Context
from hone.analysis.metrics import Estimate, Floats, outcomes
from hone.config.experiments import UNPROMPTED
from hone.config.settings import Settings


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


def _estimated(p: float, group: Group, found: Estimate) -> Cells:
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


def curves(
    group: Group, context: Context, score: Callable[[Floats, float], Estimate], metric: str, number: int | None = None
) -> Iterator[Cells]:
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


def timed_rows(item: dict[Any, Any], context: Context, *, untimed: bool = False) -> Iterator[Cells]:
    """A row of the frame once for each baseline that it was timed against; `untimed` keeps the others too."""
    for baseline in context.baselines_of([item["definition"]]):
        names = ("speedup", "speedup_low", "speedup_high", "baseline_ms")
        speeds = {name: item[f"{name}_{baseline}"] for name in names}
        if untimed or not np.isnan(speeds["speedup"]):
            yield item | context.provenance.columns(item) | speeds | {"baseline": baseline}
