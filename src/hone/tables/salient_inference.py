"""salient_inference: accuracy by the fan-out of inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hone.analysis.salient_accuracy import FULL, MEAN, Accuracies, accuracies, provenance_of, published_of
from hone.config.models import FAMILIES
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.salient_models import over_all_seeds
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One way of inference with the models of one seed, or of all."""

    dataset: columns.Dataset
    model: columns.Architecture
    fanout: columns.InferenceFanout
    seed: str
    """Seed of the training; `mean` is the row over all seeds."""
    accuracy: float = EMPTY
    """Share of the nodes whose class is right, 0 to 1."""
    accuracy_std: columns.AccuracyDeviation = EMPTY
    difference_points: float = EMPTY
    """Percentage points over inference with the full neighbourhood."""
    seeds: columns.Seeds = EMPTY
    split: columns.Split = ""
    nodes: int
    """Nodes that were asked about."""
    inference_s: float = EMPTY
    """Mean seconds of inference."""
    inference_seeds: float = EMPTY
    """Sampler seeds that the accuracy is the mean of."""
    training: columns.Training = ""
    system: columns.System = ""
    gpus: columns.Processes
    published: float = EMPTY
    """The paper's accuracy."""
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """Accuracy by fan-out, and its difference to the full neighbourhood of the same trainings."""
    everything = accuracies(run.salient)
    full = {(item.place, item.split): item for item in everything if item.fanout == FULL}
    found: list[Row] = []
    for item in everything:
        provenance = provenance_of(run.salient, item)
        printed = published_of(run.salient, item) if item.fanout == _printed_fanout(item) else {}
        for cells in item.cells(full.get((item.place, item.split))):
            found.append(Row(**cells, **provenance, **(printed if cells["seed"] == MEAN else {})))
    return found


def _printed_fanout(item: Accuracies) -> str:
    """Of test inference in the paper's artifact."""
    return ",".join(map(str, FAMILIES[item.place.model].published.inference_fanouts))


def finding(rows: Sequence[Row]) -> str:
    """How far sampled inference is from the full neighbourhood on the test nodes."""
    means = [row for row in rows if row.seed == MEAN and row.split == "test" and row.fanout != FULL]
    known = [row for row in means if is_known(row.difference_points)]
    if not known:
        return ""
    worst, best = (pick(known, key=lambda row: row.difference_points) for pick in (min, max))
    said = [f"{row.difference_points:+.2f} points ({row.fanout}, {row.model}, {row.dataset})" for row in (worst, best)]
    return f"Sampled inference differs from the full neighbourhood by {' to '.join(dict.fromkeys(said))}."


def figure(table: pd.DataFrame) -> Drawn:
    """Accuracy by fan-out."""
    from hone.analysis.salient_curves import inference_figure

    return inference_figure(table)


def layout(table: Any) -> Any:
    """The rows over all seeds, with the training's name beside its system."""
    shown = over_all_seeds(table)
    return shown.assign(system=shown["training"].fillna("") + ": " + shown["system"].fillna(""))


TABLE = RunTable(
    name="salient_inference",
    title="Accuracy by the fan-out of inference",
    caption=(
        "Accuracy of trained models by the fan-out of inference, beside inference with all neighbours: "
        "means over all seeds."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout,
    shown={
        "dataset": "Dataset",
        "model": "Model",
        "system": "Training: system",
        "split": "Nodes",
        "fanout": "Fan-out",
        "accuracy": "Accuracy",
        "difference_points": "Points over full",
        "published": "Published accuracy",
    },
    figures=(Figure("salient_inference", "Accuracy by the fan-out of inference", figure),),
)
