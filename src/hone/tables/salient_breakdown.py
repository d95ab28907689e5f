"""salient_breakdown: where an epoch of training goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hone.analysis.context import Cells
from hone.analysis.render import number
from hone.analysis.salient import SECONDS, Salient, Trained, counted_columns, mean_and_std_columns, ratio
from hone.analysis.salient_parts import part_seconds
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known, percent, widest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

PRINTED = {"train_s": "train_s", "blocked_batch_s": "waited_for_batch_s", "blocked_transfer_s": "waited_for_transfer_s"}
"""Column `published_…` -> what the paper printed: parts of an epoch of the main loop, which add up to it."""
MEANS = ("batches", "unique_nodes", "sampled_edges")


class Row(TableRow):
    """One system, training, graph, model and number of processes."""

    dataset: columns.Dataset
    system: columns.System
    epoch_s: columns.EpochSeconds = EMPTY
    prepare_s: float = EMPTY
    """Seconds of sampling and slicing, summed over the workers that did it side by side; of `pyg_gpu` and `wholegraph`
    by the GPU's clock."""
    transfer_s: float = EMPTY
    """Seconds of copies to the device, hidden ones included."""
    train_s: float = EMPTY
    """Seconds of forward, backward and optimiser, by the device's clock where there is one."""
    blocked_s: float = EMPTY
    """Seconds between training steps in which the device had no step to do: the preparation and transfers that nothing
    hid. The paper's 'sampling + slicing' and 'transfer' are such waits: their sum stands against this."""
    epoch_std_s: columns.EpochDeviation = EMPTY
    prepare_std_s: float = EMPTY
    """Its standard deviation."""
    transfer_std_s: float = EMPTY
    """Its standard deviation."""
    train_std_s: float = EMPTY
    """Its standard deviation."""
    blocked_std_s: float = EMPTY
    """Its standard deviation."""
    epoch_median_s: float = EMPTY
    """Median over these epochs."""
    blocked_share: float = EMPTY
    """blocked_s over epoch_s."""
    sample_s: float = EMPTY
    """Of the device system, as the five after it: seconds of sampling and fetching features, beside the steps. Means
    over processes of one epoch that each training ends with, with timers in it."""
    step_s: float = EMPTY
    """Seconds of forward, backward and optimiser. With the three below it makes up the epoch with timers."""
    all_reduce_s: float = EMPTY
    """Seconds in which steps wait for sums over the processes, once all processes have come to them."""
    wait_ranks_s: float = EMPTY
    """Seconds in which steps wait for the last process to come to a sum."""
    wait_batch_s: float = EMPTY
    """Seconds without a step to do: batches not sampled yet, features not gathered, or steps not launched."""
    parts_epoch_s: float = EMPTY
    """Wall seconds of the epoch with timers; what it is longer by than epoch_s, the timers cost."""
    training: columns.Training = ""
    model: columns.Architecture = ""
    gpus: columns.Processes
    threads: columns.Threads = EMPTY
    fanouts: columns.Fanouts = ""
    batch_size: columns.BatchSize = EMPTY
    hidden: columns.Hidden = EMPTY
    precision: columns.Precision = ""
    placement: columns.Placement = ""
    seeds: columns.Seeds = EMPTY
    epochs: columns.Epochs = EMPTY
    warmup_epochs: columns.WarmupEpochs = EMPTY
    batches: float = EMPTY
    """Batches of an epoch."""
    unique_nodes: float = EMPTY
    """Mean distinct nodes of a batch: rows of features that it needs."""
    sampled_edges: float = EMPTY
    """Mean sampled edges of a batch, all hops."""
    peak_memory_bytes: float = EMPTY
    """Most memory in use: of the GPU, or of the process where there is none."""
    published: float = EMPTY
    """The paper's seconds of an epoch."""
    published_source: columns.PublishedSource = ""
    published_train_s: float = EMPTY
    """The paper's 'train': seconds that the main loop spent in training."""
    published_blocked_batch_s: float = EMPTY
    """The paper's 'sampling + slicing': its main loop waited for a batch."""
    published_blocked_transfer_s: float = EMPTY
    """The paper's 'transfer': its main loop waited for the copy."""


def rows(run: Run) -> list[Row]:
    """Mean and deviation over the epochs of all seeds after warm-up."""
    return [_row(run.salient, group) for group in run.salient.minibatch]


def _row(salient: Salient, group: Trained) -> Row:
    seconds = mean_and_std_columns(group, *SECONDS)
    return Row(
        **group.columns,
        **counted_columns(group),
        **salient.provenance(group.runs),
        **seconds,
        **part_seconds(group),
        **{name: group.mean(name) for name in MEANS},
        **salient.published(group.runs[0], "epoch_s"),
        **_printed_parts(salient, group),
        epoch_median_s=float(np.median(group.over_epochs("epoch_s"))) if group.counted else EMPTY,
        blocked_share=ratio(seconds["blocked_s"], seconds["epoch_s"]),
        peak_memory_bytes=max(run.peak_memory_bytes for run in group.runs),
    )


def _printed_parts(salient: Salient, group: Trained) -> Cells:
    found = {name: salient.published(group.runs[0], metric) for name, metric in PRINTED.items()}
    return {f"published_{name}": cells["published"] for name, cells in found.items()}


def finding(rows: Sequence[Row]) -> str:
    """Which system is fastest on each graph, and how long its device waits; where most systems were compared."""
    said = []
    for place, own in widest(rows, "dataset", "training", "model", "gpus").items():
        timed = [row for row in own if is_known(row.epoch_s)]
        if len(timed) > 1:
            best, worst = (pick(timed, key=lambda row: row.epoch_s) for pick in (min, max))
            said.append(
                f"On {place} an epoch takes {number(best.epoch_s)} s with `{best.system}`, of which the device "
                f"waits {percent(best.blocked_share)}, and {number(worst.epoch_s)} s with `{worst.system}` "
                f"({percent(worst.blocked_share)})."
            )
    return " ".join(said)


def figure(table: pd.DataFrame) -> Drawn:
    """Bars of an epoch's parts."""
    from hone.analysis.salient_figures import breakdown_figure

    return breakdown_figure(table)


TABLE = RunTable(
    name="salient_breakdown",
    title="Where an epoch of training goes",
    caption=(
        "Where an epoch of training goes, for each system: preparing batches, copying them, computing, and waiting for "
        "any of these. Stages that overlap add up to more than the epoch. Trainings of one system alone are in the "
        "table, and in the figure where no other compares several."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "dataset": "Dataset",
        "system": "System",
        "epoch_s": "Epoch (s)",
        "prepare_s": "Prepare (s)",
        "transfer_s": "Transfer (s)",
        "train_s": "Train (s)",
        "blocked_s": "Waiting (s)",
        "published": "Published epoch (s)",
    },
    figures=(Figure("salient_breakdown", "Where an epoch of training goes", figure),),
)
