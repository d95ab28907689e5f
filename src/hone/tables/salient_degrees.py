"""salient_degrees: accuracy by the number of neighbours of a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hone.analysis.salient import mean_and_std
from hone.analysis.salient_accuracy import FULL, POINTS, Accuracies, accuracies, provenance_of
from hone.records import DegreeFigures
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import is_known


class Row(TableRow):
    """Nodes of similar degree by one way of inference, over all seeds of a training."""

    dataset: columns.Dataset
    model: columns.Architecture
    fanout: columns.InferenceFanout
    degree: str
    """Neighbours in the whole graph, the least and the most."""
    accuracy: float = EMPTY
    """Share of these nodes whose class is right, 0 to 1; mean over seeds."""
    accuracy_std: columns.AccuracyDeviation = EMPTY
    difference_points: float = EMPTY
    """Percentage points over inference with the full neighbourhood, on the same nodes."""
    seeds: columns.Seeds = EMPTY
    split: columns.Split = ""
    nodes: int
    """Nodes of this degree in the split."""
    training: columns.Training = ""
    system: columns.System = ""
    gpus: columns.Processes


class Bounds(NamedTuple):
    """Degrees that are counted together."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low}-{self.high}"


def rows(run: Run) -> list[Row]:
    """Accuracy by fan-out and degree, and its difference to the full neighbourhood of the same trainings."""
    everything = accuracies(run.salient)
    full = {(item.place, item.split): _by_bounds(item) for item in everything if item.fanout == FULL}
    found: list[Row] = []
    for item in everything:
        provenance = provenance_of(run.salient, item)
        base = full.get((item.place, item.split), {})
        for bounds, (nodes, shares) in _by_bounds(item).items():
            mean, std = mean_and_std(shares)
            shared = item.place.columns | {"split": item.split, "fanout": item.fanout, "degree": str(bounds)}
            difference = POINTS * (mean - mean_and_std(base[bounds][1])[0]) if bounds in base else EMPTY
            cells = {"nodes": nodes, "seeds": len(shares), "accuracy": mean, "accuracy_std": std}
            found.append(Row(**shared, **provenance, **cells, difference_points=difference))
    return found


def _by_bounds(item: Accuracies) -> dict[Bounds, tuple[int, list[float]]]:
    """Degrees, ascending -> their nodes, and the accuracy of each seed: the mean over the sampler's seeds."""
    found: dict[Bounds, tuple[int, list[float]]] = {}
    for _, results in sorted(item.results.items()):
        of_seed: dict[Bounds, list[DegreeFigures]] = {}
        for figures in (each for _, result in results for each in result.by_degree):
            of_seed.setdefault(Bounds(figures.low, figures.high), []).append(figures)
        for bounds, parts in of_seed.items():
            share = mean_and_std(part.correct / part.nodes for part in parts)[0]
            found.setdefault(bounds, (parts[0].nodes, []))[1].append(share)
    return dict(sorted(found.items()))


def finding(rows: Sequence[Row]) -> str:
    """Where sampling costs most among the test nodes, of degrees that a tenth of them have."""
    known = [row for row in _common(rows) if row.fanout != FULL and is_known(row.difference_points)]
    if not known:
        return ""
    worst = min(known, key=lambda row: row.difference_points)
    place = f"{worst.fanout}, {worst.model}, {worst.dataset}"
    return f"Sampling costs most at {worst.degree} neighbours: {worst.difference_points:+.2f} points ({place})."


def _common(rows: Sequence[Row]) -> Iterator[Row]:
    """Rows of test nodes that are at least a tenth of their split."""
    total: dict[tuple[str, str, str, str], int] = {}
    for row in rows:
        key = (row.dataset, row.model, row.training + row.system, row.fanout)
        total[key] = total.get(key, 0) + (row.nodes if row.split == "test" else 0)
    for row in rows:
        if (
            row.split == "test"
            and row.nodes * 10 >= total[row.dataset, row.model, row.training + row.system, row.fanout]
        ):
            yield row


TABLE = RunTable(
    name="salient_degrees",
    title="Accuracy by the degree of a node",
    caption="Accuracy of trained models by a node's number of neighbours, for each fan-out of inference.",
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "dataset": "Dataset",
        "model": "Model",
        "fanout": "Fan-out",
        "degree": "Neighbours",
        "split": "Split",
        "nodes": "Nodes",
        "accuracy": "Accuracy",
        "difference_points": "Points over full",
    },
)
