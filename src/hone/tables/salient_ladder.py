"""salient_ladder: each improvement on top of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.render import number
from hone.analysis.salient import Salient, Trained, by_place, counted_columns, mean_and_std_columns, ratio
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


class Row(TableRow):
    """One system of a ladder."""

    dataset: str
    """Graph, as the config names it."""
    rung: str
    """System: each adds one thing to the one before."""
    epoch_s: float = EMPTY
    """Mean wall seconds of an epoch after warm-up, over the epochs of all seeds."""
    speedup: float = EMPTY
    """`epoch_s` of the reference over `epoch_s`."""
    epoch_std_s: float = EMPTY
    """Standard deviation of epoch_s over these epochs."""
    batches: float = EMPTY
    """Batches of an epoch."""
    reference: str = ""
    """The rung that the row is compared with."""
    speedup_over_pyg: float = EMPTY
    """`epoch_s` of PyG's own loader over `epoch_s`."""
    training: str = ""
    """Name in the config."""
    model: str = ""
    """Architecture of the network."""
    gpus: int
    """Processes that trained together, each with a GPU where there is one; 0: no training."""
    threads: float = EMPTY
    """Preparing threads or worker processes of one process."""
    fanouts: str = ""
    """Neighbours sampled in training, from the seeds outwards; -1 takes all."""
    batch_size: float = EMPTY
    """Seeds of one process's batch."""
    hidden: float = EMPTY
    """Width of the hidden layers."""
    precision: str = ""
    """Number format of the model's arithmetic."""
    placement: str = ""
    """Where the device system had graph and features: gpu, sharded, host_features or host."""
    seeds: float = EMPTY
    """Trainings behind the row, which differ in their seed alone."""
    epochs: float = EMPTY
    """Epochs behind the row, of all seeds."""
    warmup_epochs: float = EMPTY
    """Epochs left out at the start of each; 0: a run was too short to leave any out."""
    published: float = EMPTY
    """The paper's seconds of an epoch."""
    published_source: str = ""
    """Where the paper prints it, and how exactly."""


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
            batches=group.mean("batches"),
            speedup=ratio(first.mean("epoch_s"), group.mean("epoch_s")),
            speedup_over_pyg=ratio(peer_s, group.mean("epoch_s")),
        )
        for group in rungs
    ]


def finding(rows: Sequence[Row]) -> str:
    """The fastest rung on each graph, of its ladder with most rungs."""
    said = []
    for place, own in widest(rows, "dataset", "training", "model", "gpus").items():
        timed = [row for row in own if is_known(row.speedup)]
        if timed:
            best = max(timed, key=lambda row: row.speedup)
            said.append(f"On {place} `{best.rung}` trains {number(best.speedup)} times as fast as `{best.reference}`.")
    return " ".join(said)


def figure(table: pd.DataFrame) -> Drawn:
    """A bar for each rung."""
    from hone.analysis.salient_figures import ladder_figure

    return ladder_figure(table)


TABLE = RunTable(
    name="salient_ladder",
    title="Each improvement on top of the one before",
    caption=(
        "Time of an epoch as SALIENT's improvements are added one by one: worker processes with a sampler in Python, "
        "the compiled sampler, batches prepared in shared memory, and copies that run ahead."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "dataset": "Dataset",
        "rung": "System",
        "model": "Model",
        "epoch_s": "Epoch (s)",
        "epoch_std_s": "Deviation (s)",
        "speedup": "Speedup",
        "speedup_over_pyg": "over PyG",
        "published": "Published epoch (s)",
    },
    figures=(Figure("salient_ladder", "Each improvement on top of the one before", figure),),
)
