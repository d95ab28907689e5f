"""salient_timeline: what each stage did when, for a few batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.salient import Salient, Trained, by_place
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known, listed, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

TIMELINE_BATCHES = 8
"""Batches that the timeline shows."""
MS_PER_S = 1e3


class Row(TableRow):
    """One stage of one batch."""

    dataset: columns.Dataset
    system: columns.System
    batch: int
    """Number of the batch in its epoch."""
    stage: str
    """What was done: prepare, transfer, train; blocked: no step to do."""
    lane: str
    """Who did it."""
    start_ms: float = EMPTY
    """Milliseconds since the epoch began."""
    duration_ms: float = EMPTY
    """Milliseconds."""
    training: columns.Training = ""
    model: columns.Architecture = ""
    gpus: columns.Processes
    seed: str = ""
    """Seed of the training."""


def rows(run: Run) -> list[Row]:
    """Spans of a few batches, of the first seed of each system on as few GPUs as it was run on."""
    found: list[Row] = []
    for groups in by_place(run.salient.minibatch, "training", "graph", "model", "system").values():
        found += _rows(run.salient, min(groups, key=lambda group: group.place.gpus))
    return found


def _rows(salient: Salient, group: Trained) -> list[Row]:
    first = group.runs[0]
    batches = sorted({span.batch for span in first.timeline})[:TIMELINE_BATCHES]
    shared = group.place.columns | salient.provenance([first])
    return [
        Row(
            **shared,
            seed=str(first.seed),
            batch=span.batch,
            stage=span.stage,
            lane=span.lane,
            start_ms=span.start_s * MS_PER_S,
            duration_ms=span.duration_s * MS_PER_S,
        )
        for span in sorted(first.timeline, key=lambda span: (span.start_s, span.lane))
        if span.batch in batches
    ]


def finding(rows: Sequence[Row]) -> str:
    """How much of the watched time the device had no step to do, for each system."""
    waited: dict[str, float] = {}
    for place in dict.fromkeys((row.dataset, row.training, row.model, row.system) for row in rows):
        own = [row for row in rows if (row.dataset, row.training, row.model, row.system) == place]
        whole_ms = max(row.start_ms + row.duration_ms for row in own) - min(row.start_ms for row in own)
        blocked_ms = sum(row.duration_ms for row in own if row.stage == "blocked")
        waited.setdefault(place[-1], blocked_ms / whole_ms if whole_ms else EMPTY)
    said = [f"{percent(share)} with `{system}`" for system, share in waited.items() if is_known(share)]
    return f"In the watched batches the device waits {listed(said)}." if said else ""


def figure(table: pd.DataFrame) -> Drawn:
    """A lane for each worker."""
    from hone.analysis.salient_figures import timeline_figure

    return timeline_figure(table)


TABLE = RunTable(
    name="salient_timeline",
    title="What each stage did when, for a few batches",
    caption=(
        "Which stage was busy when during the first batches of an epoch: gaps in the lane `train` are time for which "
        "the model waited."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "dataset": "Dataset",
        "system": "System",
        "batch": "Batch",
        "stage": "Stage",
        "lane": "Lane",
        "start_ms": "Start (ms)",
        "duration_ms": "Duration (ms)",
    },
    figures=(Figure("salient_timeline", "Who is busy when: the first batches of an epoch", figure),),
)
