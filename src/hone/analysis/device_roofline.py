"""The table device_roofline: what the kernels of the system `device` do, beside what the GPU can do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hone.analysis.csv_records import read_csv_records
from hone.analysis.provenance import Provenance
from hone.analysis.tables import Row
from hone.records import Record


class KernelTime(Record):
    """One row of what `hone.gnn.device.roofline` measured; its fields are the table's columns."""

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


def read_kernel_times(path: Path) -> list[KernelTime]:
    """The rows of a measurement; raises RecordError naming file, line and field."""
    return read_csv_records(path, KernelTime, "a kernel's time")


def roofline_rows(times: Sequence[KernelTime], provenance: Provenance) -> list[Row]:
    """device_roofline, in the order of the measurement."""
    machine = ("device", "driver", "torch")
    return [
        time.model_dump(exclude=set(machine))
        | provenance.columns({"protocol": "", **{name: getattr(time, name) for name in machine}})
        for time in times
    ]
