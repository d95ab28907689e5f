"""salient_ladder: each improvement on top of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.render import number
from hone.analysis.salient import Salient, Trained, by_place, counted_columns, mean_and_std_columns, ratio
from hone.config.trainings import OTHER_LAYERS
from hone.records import TrainingRun
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known, widest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

FIRST_RUNG = "plain"
"""The ladder starts from the plain loader; where that was not run, from the slowest system that was."""
PEER = "pyg"
DEVICE = "device"
SAME_WORK = ("dataset", "model", "gpus", "batches", "fanouts", "batch_size", "hidden")
"""Columns in which rows of several trainings agree whose epochs are the same work."""


class Row(TableRow):
    """One system of a ladder."""

    dataset: columns.Dataset
    rung: str
    """System: of SALIENT's own, each adds one thing to the one before; the others are peers."""
    epoch_s: columns.EpochSeconds = EMPTY
    speedup: float = EMPTY
    """`epoch_s` of the reference over `epoch_s`."""
    epoch_std_s: columns.EpochDeviation = EMPTY
    batches: float = EMPTY
    """Batches of an epoch."""
    reference: str = ""
    """The rung that the row is compared with."""
    speedup_over_pyg: float = EMPTY
    """`epoch_s` of PyG's own loader over `epoch_s`."""
    training: columns.Training = ""
    model: columns.Architecture = ""
    gpus: columns.Processes
    threads: columns.Threads = EMPTY
    fanouts: columns.Fanouts = ""
    batch_size: columns.BatchSize = EMPTY
    hidden: columns.Hidden = EMPTY
    precision: columns.Precision = ""
    convolutions: str = ""
    """Layers of a peer: PyTorch Geometric's (pyg) or PyTorch's operators (torch); empty for ours, and in older runs."""
    captured: str = ""
    """Whether a step was one launch of a CUDA graph: yes or no; empty for device, which always does so, and in older
    runs."""
    variant: str = ""
    """What tells rows of one system apart: precision, a peer's layers (pyg or torch), captured where steps were."""
    placement: columns.Placement = ""
    seeds: columns.Seeds = EMPTY
    epochs: columns.Epochs = EMPTY
    warmup_epochs: columns.WarmupEpochs = EMPTY
    published: float = EMPTY
    """The paper's seconds of an epoch."""
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """The systems of one training on one graph, each over the first rung; one alone is no ladder."""
    ladders = by_place(run.salient.minibatch, "training", "graph", "model", "gpus").values()
    return [row for rungs in ladders if len(rungs) > 1 for row in _rows(run.salient, rungs)]


def _rows(salient: Salient, rungs: Sequence[Trained]) -> list[Row]:
    known = {group.place.system: group for group in rungs}
    first = known.get(FIRST_RUNG, rungs[0])
    peer_s = known[PEER].mean("epoch_s") if PEER in known else EMPTY
    return [
        Row(
            **{("rung" if name == "system" else name): value for name, value in group.columns.items()},
            **counted_columns(group),
            **salient.provenance(group.runs),
            **mean_and_std_columns(group, "epoch_s"),
            **salient.published(group.runs[0], "epoch_s"),
            reference=first.place.system,
            convolutions=group.runs[0].convolutions,
            captured=_yes_or_no(group.runs[0].captured),
            variant=_variant(group.runs[0]),
            batches=group.mean("batches"),
            speedup=ratio(first.mean("epoch_s"), group.mean("epoch_s")),
            speedup_over_pyg=ratio(peer_s, group.mean("epoch_s")),
        )
        for group in rungs
    ]


def _yes_or_no(known: bool | None) -> str:
    return "" if known is None else "yes" if known else "no"


def _variant(run: TrainingRun) -> str:
    parts = (run.precision, run.convolutions, "captured" if run.captured else "")
    return ", ".join(part for part in parts if part)


def finding(rows: Sequence[Row]) -> str:
    """The fastest rung on each graph, of its ladder with most rungs; and the best form of the peers with several."""
    said = []
    for place, own in widest(rows, "dataset", "training", "model", "gpus").items():
        timed = [row for row in own if is_known(row.speedup)]
        if timed:
            best = max(timed, key=lambda row: row.speedup)
            said.append(f"On {place} `{best.rung}` trains {number(best.speedup)} times as fast as `{best.reference}`.")
    return " ".join([*said, *_best_peers(rows)])


def _best_peers(rows: Sequence[Row]) -> list[str]:
    """A sentence for each work that a peer on the GPU did in several trainings: which was the fastest."""
    works: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if is_known(row.epoch_s):
            works.setdefault(tuple(getattr(row, name) for name in SAME_WORK), []).append(row)
    said = []
    for own in works.values():
        peers = [row for row in own if row.rung in OTHER_LAYERS]
        if len(peers) > len({row.rung for row in peers}):
            said.append(_best_peer(min(peers, key=lambda row: row.epoch_s), own))
    return said


def _best_peer(best: Row, own: Sequence[Row]) -> str:
    """Which of `own` the best peer is, and how far it is from the fastest of the device system's rows."""
    device_s = min((row.epoch_s for row in own if row.rung == DEVICE), default=EMPTY)
    behind = ratio(best.epoch_s, device_s)
    beside = f", {number(behind)} times as long as `{DEVICE}`" if is_known(behind) else ""
    named = f"`{best.rung}` of the training `{best.training}` ({best.variant})"
    return f"The fastest peer on {best.dataset} is {named}: {number(best.epoch_s)} s an epoch{beside}."


def figure(table: pd.DataFrame) -> Drawn:
    """A bar for each rung."""
    from hone.analysis.salient_figures import ladder_figure

    return ladder_figure(table)


TABLE = RunTable(
    name="salient_ladder",
    title="Each improvement on top of the one before",
    caption=(
        "Time of an epoch as SALIENT's improvements are added one by one: worker processes with a sampler in Python, "
        "the compiled sampler, batches prepared in shared memory, and copies that run ahead. Peers and the "
        "device system stand beside them."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "dataset": "Dataset",
        "rung": "System",
        "model": "Model",
        "variant": "Variant",
        "epoch_s": "Epoch (s)",
        "epoch_std_s": "Deviation (s)",
        "speedup": "Speedup",
        "published": "Published epoch (s)",
    },
    figures=(Figure("salient_ladder", "Each improvement on top of the one before", figure),),
)
