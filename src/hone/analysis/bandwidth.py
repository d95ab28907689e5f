"""The least time that a GPU can need to move a workload's bytes: from its measured copy bandwidth where it is known."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from hone.errors import RecordError
from hone.records import Trace

COPY_BANDWIDTHS = Path("resources/hardware/copy_bandwidth.csv")
"""The table, relative to the repository's root, where the pipeline runs."""
FIELDS = ("device", "gb_per_s", "source")


@dataclass(frozen=True)
class Floor:
    """The least time for a workload, and what it was computed with."""

    us: float
    """NaN where nothing is known, as on a CPU."""
    source: str


@dataclass(frozen=True)
class CopyBandwidths:
    """Measured copy bandwidths in GB/s (10^9 bytes read and written a second), by the device's name in traces."""

    gb_per_s: dict[str, float]

    def floor(self, nbytes: int, trace: Trace) -> Floor:
        """Bytes over the device's copy bandwidth; the judge's own bound where no copy was measured on that device."""
        measured = self.gb_per_s.get(trace.environment.device)
        if measured is not None:
            return Floor(nbytes / measured / 1e3, f"copy at {measured:g} GB/s")
        bound_ms = trace.performance.floor_ms if trace.performance is not None else 0.0
        if bound_ms > 0:
            return Floor(1e3 * bound_ms, "the judge's bound, by the data sheet's bandwidth")
        return Floor(math.nan, "")


def read_copy_bandwidths(path: Path = COPY_BANDWIDTHS) -> CopyBandwidths:
    """The table; raises RecordError naming file and line."""
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path), remedy="run from the repository's root") from None
    if tuple(reader.fieldnames or ()) != FIELDS:
        raise RecordError(f"the columns must be {', '.join(FIELDS)}", where=str(path))
    found = {}
    for line, row in enumerate(reader, start=2):
        try:
            found[row["device"]] = float(row["gb_per_s"])
        except (TypeError, ValueError) as error:
            raise RecordError(f"gb_per_s: {error}", where=f"{path}:{line}") from None
    return CopyBandwidths(found)
