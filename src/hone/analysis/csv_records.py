"""Rows of CSV files that other stages of the pipeline wrote, as records."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, ValidationError

from hone.core.errors import RecordError
from hone.records import Record

R = TypeVar("R", bound=Record)


class Preparation(Record):
    """One row of the benchmark of the samplers; columns that are not named here are for its own table."""

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


class KernelTime(Record):
    """One row of what `hone.gnn.device.roofline` measured; its fields are columns of device_roofline."""

    kernel: str
    part: str
    bytes: int
    flops: int
    floor_us: float
    measured_us: float
    share: float
    floor_share: float | None = None
    floor_source: str
    dataset: str
    training: str
    device: str = ""
    driver: str = ""
    torch: str = ""


def read_preparations(path: Path) -> list[Preparation]:
    """The rows of a benchmark's CSV; raises RecordError naming file, line and field."""
    return read_csv_records(path, Preparation, "a time of a sampler")


def read_kernel_times(path: Path) -> list[KernelTime]:
    """The rows of a measurement; raises RecordError naming file, line and field."""
    return read_csv_records(path, KernelTime, "a kernel's time")


def read_csv_records(path: Path, kind: type[R], what: str) -> list[R]:
    """The rows of a file, where an empty cell stands for an absent field; `what` a row should be.

    Raises RecordError naming file, line and field.
    """
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path)) from None
    return [_parsed(row, kind, what, f"{path}:{line}") for line, row in enumerate(reader, start=2)]


def _parsed(row: dict[str, Any], kind: type[R], what: str, where: str) -> R:
    try:
        return kind.model_validate({name: value for name, value in row.items() if name and value})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RecordError(f"not {what}: {first['loc'][0]}: {first['msg']}", where=where) from None
