"""salient_scaling: epoch time by number of processes, beside what others published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.render import number
from hone.analysis.salient import Salient, Trained, by_place, counted_columns, cut_short, mean_and_std_columns, ratio
from hone.analysis.salient_numbers import TrainingNumber, dataset_of
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

MEASURED = "measured"


class Row(TableRow):
    """One system at one number of processes, ours or others'."""

    dataset: columns.Dataset
    system: columns.System
    model: columns.Architecture
    gpus: int
    """Processes that trained together, each with a GPU where there is one."""
    epoch_s: columns.EpochSeconds = EMPTY
    speedup: float = EMPTY
    """`epoch_s` of the reference over `epoch_s`."""
    efficiency: float = EMPTY
    """Speedup over the factor by which there are more GPUs: 1 is linear scaling."""
    epoch_std_s: columns.EpochDeviation = EMPTY
    origin: str = ""
    """`measured` here, or `published` by others."""
    hardware: str = ""
    """What it ran on."""
    reference: str = ""
    """The fewest processes of the same training: what the row is compared with."""
    training: columns.Training = ""
    threads: columns.Threads = EMPTY
    fanouts: columns.Fanouts = ""
    batch_size: columns.BatchSize = EMPTY
    hidden: columns.Hidden = EMPTY
    precision: columns.Precision = ""
    placement: columns.Placement = ""
    seeds: columns.Seeds = EMPTY
    epochs: columns.Epochs = EMPTY
    warmup_epochs: columns.WarmupEpochs = EMPTY
    published: float = EMPTY
    """The printed seconds of an epoch: the paper's beside ours, others' in rows of their own."""
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """Ours by GPUs, then every epoch time that others printed for a graph of that size."""
    salient = run.salient
    whole = [group for group in salient.minibatch if not any(map(cut_short, group.runs))]
    found: list[Row] = []
    for groups in by_place(whole, "training", "graph", "model", "system").values():
        least = min(groups, key=lambda group: group.place.gpus)
        found += [_row(salient, group, least) for group in groups]
    return found + _printed_rows(salient)


def _row(salient: Salient, group: Trained, least: Trained) -> Row:
    speedup = ratio(least.mean("epoch_s"), group.mean("epoch_s"))
    provenance = salient.provenance(group.runs)
    return Row(
        **group.columns,
        **counted_columns(group),
        **provenance,
        **mean_and_std_columns(group, "epoch_s"),
        **salient.published(group.runs[0], "epoch_s"),
        speedup=speedup,
        efficiency=speedup * least.place.gpus / group.place.gpus,
        reference=f"{least.place.gpus} process{'' if least.place.gpus == 1 else 'es'}",
        hardware=provenance["device"],
        origin=MEASURED,
    )


def _printed_rows(salient: Salient) -> list[Row]:
    """Rows of other people's times: `epoch_s` stays empty, because nothing of ours was measured."""
    graphs = dict.fromkeys(group.place.graph for group in salient.minibatch)
    datasets = {name: dataset_of(salient.graphs.get(name)) for name in graphs}
    return [_printed_row(name, number, salient) for name in graphs for number in salient.numbers.epochs(datasets[name])]


def _printed_row(graph: str, number: TrainingNumber, salient: Salient) -> Row:
    return Row(
        **salient.context.provenance.columns(),
        dataset=graph,
        system=number.system,
        model=number.setup.model,
        gpus=number.gpus,
        fanouts=number.setup.fanouts,
        batch_size=number.setup.batch_size,
        hidden=number.setup.hidden,
        hardware=number.hardware,
        origin="published",
        published=number.value,
        published_source=f"{number.label}; {number.source}",
    )


def finding(rows: Sequence[Row]) -> str:
    """What the most processes gain over the fewest."""
    several = [row for row in rows if row.origin == MEASURED and is_known(row.speedup)]
    several = [row for row in several if row.gpus > 1 and row.speedup != 1]
    if not several:
        return ""
    best = max(several, key=lambda row: (row.gpus, row.efficiency))
    return (
        f"On {best.dataset} {best.gpus} processes of `{best.system}` train "
        f"{number(best.speedup)} times as fast as {best.reference} (efficiency {percent(best.efficiency)})."
    )


def figure(table: pd.DataFrame) -> Drawn:
    """Epoch time by processes."""
    from hone.analysis.salient_curves import scaling_figure

    return scaling_figure(table)


TABLE = RunTable(
    name="salient_scaling",
    title="Epoch time by number of processes, beside what others published",
    caption=(
        "Time of an epoch by number of processes that train together, each with a GPU of its own if there is one, and "
        "the efficiency against the fewest, beside what others published. The figure has the systems that ran on "
        "several numbers of GPUs and published times of the same settings; the table has all."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "dataset": "Dataset",
        "system": "System",
        "model": "Model",
        "gpus": "Processes",
        "epoch_s": "Epoch (s)",
        "efficiency": "Efficiency",
        "published": "Published epoch (s)",
        "hardware": "Hardware",
    },
    figures=(Figure("salient_scaling", "Epoch time by number of processes", figure),),
)
