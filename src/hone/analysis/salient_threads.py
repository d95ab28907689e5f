"""Batch preparation by threads: what the benchmark of the samplers wrote, and the table salient_threads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from hone.analysis.csv_records import read_csv_records
from hone.analysis.provenance import Provenance
from hone.analysis.tables import Row
from hone.records import Record

THEIRS = "salient"
"""The system that the others are held against: the sampler of the paper's authors."""


class Preparation(Record):
    """One row of the benchmark's CSV; columns that are not named here are for its own table."""

    model_config = ConfigDict(extra="ignore")

    graph: str
    system: str
    threads: int
    batch_ms: float
    """Elapsed time over batches: the median over rounds."""
    batch_ms_low: float | None = None
    batch_ms_high: float | None = None
    unique_nodes: float
    """Mean per batch."""
    sampled_edges: float | None = None
    batches: float | None = None
    fanouts: str = ""
    """From the seeds outwards, with spaces or commas between them."""
    batch_size: float | None = None
    pages: str = ""
    device: str = ""
    driver: str = ""
    torch: str = ""


def read_preparations(path: Path) -> list[Preparation]:
    """The rows of a benchmark's CSV; raises RecordError naming file, line and field."""
    return read_csv_records(path, Preparation, "a time of a sampler")


def thread_rows(preparations: Sequence[Preparation], provenance: Provenance) -> list[Row]:
    """salient_threads: by graph and system, with the speedup over the least threads, and over THEIRS at as many."""
    rows: list[Row] = []
    for item in sorted(preparations, key=_order(preparations)):
        same = [other for other in preparations if _work(other) == _work(item)]
        own = [other for other in same if other.system == item.system]
        theirs = [other for other in same if (other.system, other.threads) == (THEIRS, item.threads)]
        rows.append(
            item.model_dump(exclude={"device", "driver", "torch"})
            | provenance.columns(
                {"protocol": "", **{name: getattr(item, name) for name in ("device", "driver", "torch")}}
            )
            | {
                "fanouts": ",".join(item.fanouts.replace(",", " ").split()),
                "speedup": min(own, key=lambda other: other.threads).batch_ms / item.batch_ms,
                "speedup_over_salient": theirs[0].batch_ms / item.batch_ms if theirs else math.nan,
            }
        )
    return rows


def _work(item: Preparation) -> tuple[Any, ...]:
    """What two times must share to be comparable."""
    return item.graph, item.fanouts, item.batch_size, item.pages, item.device


def _order(items: Iterable[Preparation]) -> Any:
    """By graph and system as they come, then by threads."""
    places = list(dict.fromkeys((item.graph, item.system) for item in items))
    return lambda item: (places.index((item.graph, item.system)), item.threads)
