"""salient_scaling: epoch time by number of processes, beside what others published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.render import number
from hone.analysis.salient import Salient, Trained, by_place, counted_columns, cut_short, mean_and_std_columns, ratio
from hone.analysis.salient_numbers import TrainingNumber, dataset_of
from hone.analysis.salient_parts import Forecast, forecasts, part_us
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known, listed, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

MEASURED, PREDICTED = "measured", "predicted"
GROWING = {
    "step_us": "the step itself",
    "all_reduce_us": "summing over the processes",
    "wait_ranks_us": "waiting for the slowest process",
    "wait_batch_us": "waiting for batches",
}
"""Part of a batch -> what it is in a sentence."""


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
    predicted_s: float = EMPTY
    """Seconds of an epoch that nobody measured: batches of an epoch x the sum of the predicted parts of a batch. A part
    grows with each doubling of processes as it did between the measured numbers from two processes on."""
    step_us: float = EMPTY
    """Microseconds a batch of forward, backward and optimiser of the device system, in the epoch with timers. With the
    three below it makes up a batch."""
    all_reduce_us: float = EMPTY
    """Microseconds a batch in which steps wait for sums over the processes, once all processes have come to them."""
    wait_ranks_us: float = EMPTY
    """Microseconds a batch in which steps wait for the last process to come to a sum."""
    wait_batch_us: float = EMPTY
    """Microseconds a batch without a step to do: not sampled yet, features not gathered, or not launched."""
    sample_us: float = EMPTY
    """Microseconds a batch of sampling and fetching a group's first features, which run beside the steps."""
    epoch_std_s: columns.EpochDeviation = EMPTY
    nodes: float = EMPTY
    """Hosts that the processes ran on, as many on each."""
    origin: str = ""
    """`measured` here, `predicted` from what was, or `published` by others."""
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
        found += [_predicted_row(salient, forecast, groups) for forecast in forecasts(groups)]
    return found + _printed_rows(salient)


def _row(salient: Salient, group: Trained, least: Trained) -> Row:
    speedup = ratio(least.mean("epoch_s"), group.mean("epoch_s"))
    provenance, hosts = salient.provenance(group.runs), group.runs[0].nodes
    return Row(
        **group.columns,
        **counted_columns(group),
        **provenance,
        **mean_and_std_columns(group, "epoch_s"),
        **salient.published(group.runs[0], "epoch_s"),
        **part_us(group),
        speedup=speedup,
        efficiency=speedup * least.place.gpus / group.place.gpus,
        reference=f"{least.place.gpus} process{'' if least.place.gpus == 1 else 'es'}",
        nodes=hosts,
        hardware=provenance["device"] + (f", {hosts} hosts" if hosts > 1 else ""),
        origin=MEASURED,
    )


def _predicted_row(salient: Salient, forecast: Forecast, groups: Sequence[Trained]) -> Row:
    """`epoch_s` stays empty: nothing was measured."""
    measured = {group.place.gpus: group for group in groups}
    largest = measured[max(measured)]
    provenance = salient.provenance(run for group in groups for run in group.runs)
    return Row(
        **largest.columns | {"gpus": forecast.gpus},
        **provenance,
        **forecast.part_us,
        predicted_s=forecast.epoch_s,
        origin=PREDICTED,
        hardware=f"predicted from {listed([str(gpus) for gpus in forecast.measured])} {provenance['device']}",
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
    """What the most processes gain over the fewest, what stands in the way, and what more are predicted to take."""
    several = [row for row in rows if row.origin == MEASURED and is_known(row.speedup)]
    several = [row for row in several if row.gpus > 1 and row.speedup != 1]
    if not several:
        return ""
    best = max(several, key=lambda row: (row.gpus, row.efficiency))
    said = (
        f"On {best.dataset} {best.gpus} processes of `{best.system}` train "
        f"{number(best.speedup)} times as fast as {best.reference} (efficiency {percent(best.efficiency)})."
    )
    own = [row for row in rows if _line(row) == _line(best)]
    return " ".join([said, *_in_the_way(best, own), *_forecast(own)])


def _line(row: Row) -> tuple[str, ...]:
    return row.dataset, row.training, row.model, row.system


def _in_the_way(best: Row, own: Sequence[Row]) -> list[str]:
    """Which part of a batch grows most from the fewest processes to the most."""
    least = min((row for row in own if row.origin == MEASURED), key=lambda row: row.gpus)
    grown = {word: getattr(best, name) - getattr(least, name) for name, word in GROWING.items()}
    if not all(map(is_known, grown.values())) or max(grown.values()) <= 0:
        return []
    word = max(grown, key=lambda each: grown[each])
    return [f"What grows most is {word}: by {number(grown[word])} microseconds a batch."]


def _forecast(own: Sequence[Row]) -> list[str]:
    told = [f"{number(row.predicted_s)} s on {row.gpus}" for row in own if row.origin == PREDICTED]
    return [f"Predicted, not measured: an epoch of {listed(told)}."] if told else []


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """Predicted epochs stand beside measured ones; their hardware says what they are."""
    return table.assign(epoch_s=table["epoch_s"].fillna(table["predicted_s"]))


def figure(table: pd.DataFrame) -> Drawn:
    """Epoch time by processes."""
    from hone.analysis.salient_curves import scaling_figure

    return scaling_figure(table)


TABLE = RunTable(
    name="salient_scaling",
    title="Epoch time by number of processes, beside what others published",
    caption=(
        "Time of an epoch by number of processes that train together, each with a GPU of its own if there is one, and "
        "the efficiency against the fewest, beside what others published. 8 and 16 processes of the device system are "
        "predicted where 2 and 4 were measured, as if linked like those. The figure has the systems that ran on "
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
    layout=layout,
    figures=(Figure("salient_scaling", "Epoch time by number of processes", figure),),
)
