"""device_roofline: what the kernels of the system `device` do, beside what the GPU can do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from hone.records.gnn import BOTH_PARTS, WHOLE_EPOCH
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import percent

MACHINE = ("device", "driver", "torch")


class Row(TableRow):
    """One kernel of a batch."""

    kernel: str
    """One launch, by what it does."""
    bytes: int
    """Bytes that the kernel must read and write at least, in a batch."""
    flops: int
    """Floating-point operations of a batch's real rows."""
    floor_us: float = EMPTY
    """The least time that the GPU can need for these bytes and operations, in microseconds."""
    measured_us: float = EMPTY
    """Microseconds of a batch, each kernel by itself; of an epoch: beside each other."""
    share: float = EMPTY
    """The kernel's part of all kernels' time."""
    part: str = ""
    """`sampling`, or the training `step`; the device does both at the same time."""
    floor_share: float = EMPTY
    """floor_us over measured_us: 1 is all that the GPU can do."""
    floor_source: str = ""
    """What floor_us was computed with."""
    dataset: columns.Dataset = ""
    training: columns.Training = ""


def rows(run: Run) -> list[Row]:
    """In the order of the measurement."""
    found = []
    for time in run.records.rooflines:
        machine = {"protocol": "", **{name: getattr(time, name) for name in MACHINE}}
        found.append(Row(**time.model_dump(exclude=set(MACHINE)), **run.context.provenance.columns(machine)))
    return found


def finding(rows: Sequence[Row]) -> str:
    """Of each graph: how near all kernels together are to the hardware, and which takes most time; then the epoch."""
    said = []
    for (dataset, _), group in groupby(rows, key=lambda row: (row.dataset, row.training)):
        of_graph = list(group)
        kernels = [row for row in of_graph if row.part != BOTH_PARTS]
        total, floor = sum(row.measured_us for row in kernels), sum(row.floor_us for row in kernels)
        if not total:
            continue
        most = max(kernels, key=lambda row: row.measured_us)
        said.append(
            f"On {dataset} the kernels of a batch take {total:.0f} us one after the other. At the speed of the "
            f"hardware it would be {percent(floor / total)} of that. `{most.kernel}` takes most, "
            f"{percent(most.measured_us / total)}."
        )
        said += [f"In an epoch a batch takes {it.measured_us:.0f} us." for it in of_graph if it.kernel == WHOLE_EPOCH]
    return " ".join(said)


TABLE = RunTable(
    name="device_roofline",
    title="The device system's kernels beside what the GPU can do",
    caption=(
        "Where a batch's time goes on a GPU that samples and trains by itself. Each kernel has the least bytes and "
        "operations that it needs. Beside the time that it took stands the time that the GPU needs for these, at its "
        "measured copy bandwidth and product rate."
    ),
    category="SALIENT",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "kernel": "Kernel",
        "part": "Part",
        "bytes": "Bytes",
        "flops": "Operations",
        "floor_us": "Floor (us)",
        "measured_us": "Measured (us)",
        "floor_share": "Floor / measured",
        "share": "Share of time",
    },
)
