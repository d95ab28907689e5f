"""The SALIENT tables about accuracy: models trained on samples or on the whole graph, and sampled inference.

Each seed has a row, and behind them stands one row with `seed` = `mean`: mean and standard deviation over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hone.analysis.salient import FULL_BATCH, Place, Salient, mean_and_std
from hone.analysis.salient_numbers import fanouts_text
from hone.analysis.tables import Row
from hone.records import InferenceFigures, InferenceRun, TrainingRun

FULL = "full"
"""`fanout` of inference over the full neighbourhood, layer by layer."""
MEAN = "mean"
"""`seed` of the row over all seeds."""
POINTS = 100.0
PUBLISHED_METRIC = {"valid": "valid_accuracy", "test": "test_accuracy"}
PUBLISHED_FANOUTS = {"sage_ri": "100,100,100"}
"""Test inference in the paper's artifact, where it is not INFERENCE_FANOUTS."""
INFERENCE_FANOUTS = "20,20,20"


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

    def rows(self, reference: Accuracies | None) -> Iterator[Row]:
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


def inference_rows(salient: Salient) -> list[Row]:
    """salient_inference: accuracy by fan-out, and its difference to the full neighbourhood of the same trainings."""
    everything = accuracies(salient)
    full = {(item.place, item.split): item for item in everything if item.fanout == FULL}
    rows: list[Row] = []
    for item in everything:
        further = _further(salient, item)
        printed = _published(salient, item) if item.fanout == _printed_fanout(item) else {}
        for row in item.rows(full.get((item.place, item.split))):
            rows.append(row | further | (printed if row["seed"] == MEAN else {}))
    return rows


def model_rows(salient: Salient) -> list[Row]:
    """salient_models: test accuracy by the best inference there is, and its difference to full-batch training."""
    chosen = list(_most_exact(item for item in accuracies(salient) if item.split == "test"))
    settings = {group.place: group.runs[0] for group in salient.trained}
    whole = [item for item in chosen if item.place.system == FULL_BATCH]
    rows: list[Row] = []
    for item in chosen:
        mode = FULL_BATCH if item.place.system == FULL_BATCH else "sampled"
        reference = _counterpart(item, whole, settings)
        further: Row = _further(salient, item) | {"mode": mode}
        further["reference"] = reference.place.training if reference is not None else ""
        for row in item.rows(reference):
            rows.append(row | further | (_published(salient, item) if row["seed"] == MEAN else {}))
    return rows


def _most_exact(items: Iterable[Accuracies]) -> Iterable[Accuracies]:
    """Of each place the full neighbourhood, or else the fan-outs that take most."""
    best: dict[Place, Accuracies] = {}
    for item in items:
        if item.place not in best or _reach(item) > _reach(best[item.place]):
            best[item.place] = item
    return best.values()


def _reach(item: Accuracies) -> float:
    """Neighbours that inference takes at most along one path."""
    if item.fanout == FULL:
        return math.inf
    return math.prod(math.inf if fanout == "-1" else int(fanout) for fanout in item.fanout.split(","))


def _counterpart(
    item: Accuracies, whole: Sequence[Accuracies], settings: Mapping[Place, TrainingRun]
) -> Accuracies | None:
    """The same model trained on the whole graph: of the same training, or else of one with as wide a model."""

    def rank(other: Accuracies) -> bool:
        return other.place.training != item.place.training

    def fits(other: Accuracies) -> bool:
        place, mine = other.place, item.place
        same_width = {settings[p].hidden for p in (place, mine) if p in settings}
        return (place.graph, place.model) == (mine.graph, mine.model) and len(same_width) < 2

    return min(filter(fits, whole), key=rank, default=None)


def _trainings(salient: Salient, item: Accuracies) -> list[TrainingRun]:
    return [run for group in salient.trained if group.place == item.place for run in group.runs]


def _further(salient: Salient, item: Accuracies) -> dict[str, str]:
    """Provenance."""
    return salient.provenance([*_trainings(salient, item), *item.runs])


def _printed_fanout(item: Accuracies) -> str:
    return PUBLISHED_FANOUTS.get(item.place.model, INFERENCE_FANOUTS)


def _published(salient: Salient, item: Accuracies) -> Row:
    """What the paper printed for this very data set; nothing where the training itself is not known."""
    trainings = _trainings(salient, item)
    return salient.published(trainings[0], PUBLISHED_METRIC[item.split]) if trainings and item.split != "train" else {}
