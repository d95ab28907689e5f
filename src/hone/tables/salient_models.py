"""salient_models: test accuracy of models trained on samples, beside full-batch training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hone.analysis.salient import FULL_BATCH, Place
from hone.analysis.salient_accuracy import FULL, MEAN, Accuracies, accuracies, provenance_of, published_of
from hone.records import TrainingRun
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import is_known, percent


class Row(TableRow):
    """Models of one seed, or of all."""

    dataset: columns.Dataset
    model: columns.Architecture
    mode: str
    """Trained on `sampled` batches, or `full_batch`: on the whole graph at every step."""
    seed: str
    """Seed of the training; `mean` is the row over all seeds."""
    accuracy: float = EMPTY
    """Share of the nodes whose class is right, 0 to 1."""
    accuracy_std: columns.AccuracyDeviation = EMPTY
    difference_points: float = EMPTY
    """Percentage points over full-batch training."""
    seeds: columns.Seeds = EMPTY
    split: columns.Split = ""
    nodes: int
    """Nodes that were asked about."""
    inference_s: float = EMPTY
    """Mean seconds of inference."""
    inference_seeds: float = EMPTY
    """Sampler seeds that the accuracy is the mean of."""
    fanout: columns.InferenceFanout = ""
    reference: str = ""
    """The training on the whole graph that the row is compared with."""
    training: columns.Training = ""
    system: columns.System = ""
    gpus: columns.Processes
    published: float = EMPTY
    """The paper's accuracy."""
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """Test accuracy by the best inference there is, and its difference to full-batch training."""
    salient = run.salient
    chosen = list(_most_exact(item for item in accuracies(salient) if item.split == "test"))
    settings = {group.place: group.runs[0] for group in salient.trained}
    whole = [item for item in chosen if item.place.system == FULL_BATCH]
    found: list[Row] = []
    for item in chosen:
        reference = _counterpart(item, whole, settings)
        shared = provenance_of(salient, item) | {
            "mode": FULL_BATCH if item.place.system == FULL_BATCH else "sampled",
            "reference": reference.place.training if reference is not None else "",
        }
        for cells in item.cells(reference):
            found.append(Row(**cells, **shared, **(published_of(salient, item) if cells["seed"] == MEAN else {})))
    return found


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


def finding(rows: Sequence[Row]) -> str:
    """Accuracy of sampled training beside full-batch training, for each graph and model."""
    means = [row for row in rows if row.seed == MEAN and row.mode != FULL_BATCH and is_known(row.accuracy)]
    if not means:
        return ""
    compared = [row for row in means if is_known(row.difference_points)]
    if not compared:
        best = max(means, key=lambda row: row.accuracy)
        return f"The best test accuracy is {percent(best.accuracy)} ({best.model} on {best.dataset})."
    worst, best = (pick(compared, key=lambda row: row.difference_points) for pick in (min, max))
    said = [f"{row.difference_points:+.2f} points ({row.model} on {row.dataset})" for row in (worst, best)]
    return (
        f"Training on samples differs from full-batch training by {' to '.join(dict.fromkeys(said))} in test accuracy."
    )


def over_all_seeds(table: Any) -> Any:
    """The rows over all seeds: those of each seed are in the CSV file."""
    return table[table["seed"] == MEAN]


TABLE = RunTable(
    name="salient_models",
    title="Test accuracy of models trained on samples, beside full-batch training",
    caption=(
        "Test accuracy of each model trained on samples, beside the same model trained on the whole graph "
        "(`full_batch`): means over all seeds."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    layout=over_all_seeds,
    shown={
        "dataset": "Dataset",
        "model": "Model",
        "training": "Training",
        "system": "System",
        "accuracy": "Test accuracy",
        "accuracy_std": "Deviation",
        "difference_points": "Points over full batch",
        "published": "Published accuracy",
    },
)
