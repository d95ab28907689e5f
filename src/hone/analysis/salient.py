"""Trainings grouped for the SALIENT tables: runs that differ in their seed alone, and figures over their epochs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np

from hone.analysis.context import Cells, Context
from hone.analysis.run import RunRecords
from hone.analysis.salient_numbers import TrainingNumbers, fanouts_text
from hone.records import EpochFigures, GraphInfo, InferenceFigures, InferenceRun, TrainingRun, digest
from hone.records.gnn import System

WARMUP_EPOCHS = 1
"""Epochs at the start of every run that no time is taken from: caches, allocators and clocks settle in them."""
FULL_BATCH = "full_batch"
SYSTEMS: tuple[str, ...] = get_args(System)
"""In the order of the ladder, from the slowest."""
SECONDS = ("epoch_s", "prepare_s", "transfer_s", "train_s", "blocked_s")


class Place(NamedTuple):
    """Where a run stands in the config, all but its seed."""

    training: str
    graph: str
    model: str
    system: str
    gpus: int

    @classmethod
    def of(cls, run: TrainingRun | InferenceRun) -> Place:
        """Of a record."""
        return cls(run.training, run.graph, run.model, run.system, run.gpus)

    @property
    def columns(self) -> Cells:
        """Columns that every table has."""
        row = self._asdict()
        return {"dataset": row.pop("graph")} | row


@dataclass(frozen=True)
class Trained:
    """Runs that differ in their seed alone."""

    place: Place
    runs: Sequence[TrainingRun]
    """By seed."""

    @property
    def counted(self) -> list[EpochFigures]:
        """Epochs after the warm-up, of all seeds; of a run that is not longer than the warm-up its last epoch."""
        return [epoch for run in self.runs for epoch in _counted(run)]

    def over_epochs(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """One figure of every counted epoch, shape (epochs,)."""
        return np.array([getattr(epoch, name) for epoch in self.counted], dtype=float)

    def over_runs(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Mean of a figure over each run's counted epochs, shape (runs,): epochs of one run are not independent."""
        return np.array([mean_and_std(getattr(epoch, name) for epoch in _counted(run))[0] for run in self.runs])

    def mean(self, name: str) -> float:
        """Mean of a figure over the counted epochs; NaN without any."""
        return mean_and_std(self.over_epochs(name))[0]

    @property
    def warmed_up(self) -> bool:
        """Whether every run has an epoch after its warm-up."""
        return all(len(run.epochs) > WARMUP_EPOCHS for run in self.runs)

    @property
    def columns(self) -> Cells:
        """Place and settings."""
        first = self.runs[0]
        return self.place.columns | {
            "fanouts": fanouts_text(first.fanouts),
            "batch_size": first.batch_size,
            "hidden": first.hidden,
            "precision": first.precision,
            "placement": first.placement,
            "threads": first.threads,
        }


def _counted(run: TrainingRun) -> tuple[EpochFigures, ...]:
    return run.epochs[WARMUP_EPOCHS:] or run.epochs[-1:]


def mean_and_std(values: Iterable[float]) -> tuple[float, float]:
    """Mean and sample standard deviation; NaN for what too few values leave unknown."""
    array = np.array(list(values), dtype=float)
    return float(array.mean()) if array.size else math.nan, float(array.std(ddof=1)) if array.size > 1 else math.nan


@dataclass(frozen=True)
class Salient:
    """What all SALIENT tables are made of."""

    context: Context
    records: RunRecords
    numbers: TrainingNumbers

    @cached_property
    def graphs(self) -> Mapping[str, GraphInfo]:
        """By name."""
        return {graph.name: graph for graph in self.records.graphs}

    @cached_property
    def trained(self) -> list[Trained]:
        """Groups in the order of the records, within a training and graph by model, GPUs and system."""
        found: dict[Place, list[TrainingRun]] = {}
        for run in self.records.trainings:
            found.setdefault(Place.of(run), []).append(run)
        trainings = list(dict.fromkeys((place.training, place.graph) for place in found))
        models = list(dict.fromkeys(place.model for place in found))

        def order(place: Place) -> tuple[int, ...]:
            first = trainings.index((place.training, place.graph))
            return first, models.index(place.model), place.gpus, SYSTEMS.index(place.system)

        return [Trained(place, sorted(found[place], key=lambda run: run.seed)) for place in sorted(found, key=order)]

    @property
    def minibatch(self) -> list[Trained]:
        """Groups that trained on batches: those whose times are compared."""
        return [group for group in self.trained if group.place.system != FULL_BATCH]

    def inferred(self) -> Iterator[tuple[InferenceRun, InferenceFigures]]:
        """Every result of inference with the run that it belongs to, in the order of the records."""
        for run in self.records.inferences:
            for result in run.results:
                yield run, result

    def provenance(self, runs: Iterable[TrainingRun | InferenceRun]) -> dict[str, str]:
        """Provenance columns of a row with these runs behind it; `protocol` names what the trainings were told."""
        runs = list(runs)
        told: dict[str, set[str]] = {}
        for run in runs:
            if isinstance(run, TrainingRun):
                told.setdefault(run.training, set()).add(run.config_digest)
        return self.context.provenance.columns(
            {
                "device": [run.environment.device for run in runs],
                "driver": [run.environment.driver for run in runs],
                "protocol": [f"{training} {_one_digest(digests)[:8]}" for training, digests in told.items()],
                "torch": [run.environment.torch for run in runs],
            }
        )

    def published(self, run: TrainingRun, metric: str) -> Cells:
        """The columns `published` and `published_source`; nothing beside epochs that were cut short."""
        if cut_short(run):
            return {"published": math.nan, "published_source": ""}
        value, source = self.numbers.find(self.graphs.get(run.graph), run, metric)
        return {"published": value, "published_source": source}


def mean_and_std_columns(group: Trained, *names: str) -> Cells:
    """Mean of each figure `…_s` over the counted epochs, and its deviation as `…_std_s`."""
    cells: Cells = {}
    for name in names:
        cells[name], cells[name.replace("_s", "_std_s")] = mean_and_std(group.over_epochs(name))
    return cells


def counted_columns(group: Trained) -> Cells:
    """How many epochs and seeds are behind a time."""
    warmup = WARMUP_EPOCHS if group.warmed_up else 0
    return {"seeds": len(group.runs), "epochs": len(group.counted), "warmup_epochs": warmup}


def ratio(above: float, below: float) -> float:
    """NaN where the divisor is nothing."""
    return above / below if below else math.nan


def cut_short(run: TrainingRun) -> bool:
    """Whether epochs ended before every training node was seen: their times are no epoch's."""
    whole = math.ceil(run.num_train / (run.batch_size * run.gpus)) if run.batch_size else 0
    return any(epoch.batches < whole for epoch in run.epochs)


def _one_digest(digests: set[str]) -> str:
    """Of a single digest itself; several, as of several seeds, are digested again."""
    return next(iter(digests)) if len(digests) == 1 else digest(sorted(digests))


def by_place(groups: Iterable[Trained], *names: str) -> dict[tuple[object, ...], list[Trained]]:
    """Groups that agree in these fields of their place, in order."""
    found: dict[tuple[object, ...], list[Trained]] = {}
    for group in groups:
        found.setdefault(tuple(getattr(group.place, name) for name in names), []).append(group)
    return found
