"""Accuracy by seed of trained models: what the tables about accuracy share.

Each seed has a row, and behind them stands one row with `seed` = `mean`: mean and standard deviation over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hone.analysis.context import Cells
from hone.analysis.salient import Place, Salient, mean_and_std
from hone.analysis.salient_numbers import fanouts_text
from hone.records import InferenceFigures, InferenceRun, TrainingRun

FULL = "full"
"""`fanout` of inference over the full neighbourhood, layer by layer."""
MEAN = "mean"
"""`seed` of the row over all seeds."""
POINTS = 100.0
PUBLISHED_METRIC = {"valid": "valid_accuracy", "test": "test_accuracy"}


def fanout_of(result: InferenceFigures) -> str:
    """`full`, or the fan-outs from the seeds outwards."""
    return FULL if result.mode == "layerwise" else fanouts_text(result.fanouts)


@dataclass(frozen=True)
class Accuracies:
    """Accuracy by seed, of one place, split and way of inference."""

    place: Place
    split: str
    fanout: str
    results: Mapping[int, Sequence[tuple[InferenceRun, InferenceFigures]]]
    """Seed of the training -> its results, one for each seed of the sampler."""

    @cached_property
    def by_seed(self) -> dict[int, float]:
        """Mean over the sampler's seeds."""
        return {
            seed: mean_and_std(result.accuracy for _, result in found)[0]
            for seed, found in sorted(self.results.items())
        }

    @property
    def runs(self) -> list[InferenceRun]:
        """Records behind it."""
        return [run for found in self.results.values() for run, _ in found]

    def cells(self, reference: Accuracies | None) -> Iterator[Cells]:
        """A row for each seed, then the mean; differences to the same seed, and to the mean, of a reference."""
        first = next(iter(self.results.values()))[0][1]
        shared = self.place.columns | {"split": self.split, "fanout": self.fanout, "nodes": first.nodes}
        base = reference.by_seed if reference is not None else {}
        for seed, accuracy in self.by_seed.items():
            difference = POINTS * (accuracy - base[seed]) if seed in base else math.nan
            seconds = mean_and_std(result.inference_s for _, result in self.results[seed])[0]
            yield shared | {
                "seed": str(seed),
                "accuracy": accuracy,
                "difference_points": difference,
                "inference_s": seconds,
                "inference_seeds": len(self.results[seed]),
            }
        mean, std = mean_and_std(self.by_seed.values())
        seconds = mean_and_std(result.inference_s for found in self.results.values() for _, result in found)[0]
        yield shared | {
            "seed": MEAN,
            "seeds": len(self.by_seed),
            "accuracy": mean,
            "accuracy_std": std,
            "difference_points": POINTS * (mean - mean_and_std(base.values())[0]),
            "inference_s": seconds,
            "inference_seeds": sum(len(found) for found in self.results.values()),
        }


def accuracies(salient: Salient) -> list[Accuracies]:
    """In the order of the trainings, then of the results; inference without its training comes last."""
    found: dict[tuple[Place, str, str], dict[int, list[tuple[InferenceRun, InferenceFigures]]]] = {}
    for run, result in salient.inferred():
        key = (Place.of(run), result.split, fanout_of(result))
        found.setdefault(key, {}).setdefault(run.seed, []).append((run, result))
    places = [group.place for group in salient.trained]
    known = sorted(found, key=lambda key: places.index(key[0]) if key[0] in places else len(places))
    return [Accuracies(*key, found[key]) for key in known]


def _trainings(salient: Salient, item: Accuracies) -> list[TrainingRun]:
    return [run for group in salient.trained if group.place == item.place for run in group.runs]


def provenance_of(salient: Salient, item: Accuracies) -> dict[str, str]:
    """Provenance columns."""
    return salient.provenance([*_trainings(salient, item), *item.runs])


def published_of(salient: Salient, item: Accuracies) -> Cells:
    """What the paper printed for this very data set; nothing where the training itself is not known."""
    trainings = _trainings(salient, item)
    return salient.published(trainings[0], PUBLISHED_METRIC[item.split]) if trainings and item.split != "train" else {}
