"""salient_threads: time to a prepared batch, by number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hone.analysis.csv_records import Preparation
from hone.analysis.provenance import Provenance
from hone.analysis.render import number
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

THEIRS = "salient"
"""The system that the others are held against: the sampler of the paper's authors."""
MACHINE = ("device", "driver", "torch")


class Row(TableRow):
    """One sampler with so many threads."""

    graph: str
    """Graph, as the config names it."""
    system: str
    """Whose sampler."""
    threads: columns.Threads = EMPTY
    batch_ms: float = EMPTY
    """Wall milliseconds to a prepared batch: elapsed time over batches, median over rounds."""
    unique_nodes: float = EMPTY
    """Mean distinct nodes of a batch: rows of features that it needs."""
    speedup: float = EMPTY
    """`batch_ms` with the least threads over `batch_ms`."""
    speedup_over_salient: float = EMPTY
    """`batch_ms` of SALIENT's own sampler, at as many threads, over `batch_ms`."""
    batch_ms_low: float = EMPTY
    """Wall milliseconds to a batch in the fastest round."""
    batch_ms_high: float = EMPTY
    """Wall milliseconds to a batch in the slowest round."""
    sampled_edges: float = EMPTY
    """Mean sampled edges of a batch, all hops."""
    batches: float = EMPTY
    """Batches measured."""
    fanouts: columns.Fanouts = ""
    batch_size: columns.BatchSize = EMPTY
    pages: str = ""
    """The graph's memory: `maps` of its files, or copied into `large` pages."""


def rows(run: Run) -> list[Row]:
    """By graph and system, with the speedup over the least threads, and over THEIRS at as many."""
    items = run.records.preparations
    return [_row(item, items, run.context.provenance) for item in sorted(items, key=_order(items))]


def _row(item: Preparation, items: Sequence[Preparation], provenance: Provenance) -> Row:
    same = [other for other in items if _work(other) == _work(item)]
    least = min((other for other in same if other.system == item.system), key=lambda other: other.threads)
    theirs = [other for other in same if (other.system, other.threads) == (THEIRS, item.threads)]
    machine = {name: getattr(item, name) for name in MACHINE}
    return Row(
        **item.model_dump(exclude={*MACHINE, "fanouts"}),
        **provenance.columns({"protocol": "", **machine}),
        fanouts=",".join(item.fanouts.replace(",", " ").split()),
        speedup=least.batch_ms / item.batch_ms,
        speedup_over_salient=theirs[0].batch_ms / item.batch_ms if theirs else EMPTY,
    )


def _work(item: Preparation) -> tuple[Any, ...]:
    """What two times must share to be comparable."""
    return item.graph, item.fanouts, item.batch_size, item.pages, item.device


def _order(items: Iterable[Preparation]) -> Callable[[Preparation], tuple[int, int]]:
    """By graph and system as they come, then by threads."""
    places = list(dict.fromkeys((item.graph, item.system) for item in items))
    return lambda item: (places.index((item.graph, item.system)), item.threads)


def finding(rows: Sequence[Row]) -> str:
    """The fastest of our times on each graph, beside SALIENT's own sampler where it was run."""
    said = []
    for graph in dict.fromkeys(row.graph for row in rows):
        best = min((row for row in rows if row.graph == graph), key=lambda row: row.batch_ms)
        beside = ""
        if best.system != THEIRS and is_known(best.speedup_over_salient):
            beside = f", {number(best.speedup_over_salient)} times as fast as SALIENT's own sampler"
        threads = f"{best.threads:.0f} thread{'' if best.threads == 1 else 's'}"
        said.append(
            f"On {graph} `{best.system}` prepares a batch in {number(best.batch_ms)} ms with {threads}{beside}."
        )
    return " ".join(said)


def figure(table: pd.DataFrame) -> Drawn:
    """Time by threads."""
    from hone.analysis.salient_figures import threads_figure

    return threads_figure(table)


TABLE = RunTable(
    name="salient_threads",
    title="Batch preparation by threads",
    caption=(
        "Time to a prepared batch, sampling and slicing without any training, by number of threads; beside SALIENT's "
        "own sampler where it was compiled."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "graph": "Graph",
        "system": "Sampler",
        "threads": "Threads",
        "batch_ms": "Batch (ms)",
        "speedup": "Speedup",
        "speedup_over_salient": "over SALIENT",
        "unique_nodes": "Distinct nodes",
    },
    figures=(Figure("salient_threads", "Time to a prepared batch, by threads", figure),),
)
