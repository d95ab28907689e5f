"""The least time that a GPU can need to move a workload's bytes: from its measured copy bandwidth where it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from hone.machine.hardware import GPUS, load_gpus
from hone.records import Trace


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


def read_copy_bandwidths(path: Path = GPUS) -> CopyBandwidths:
    """Of the GPUs on which a copy was measured; raises ConfigError naming the table's file, entry and field."""
    measured = {item.device: item.copy_bandwidth_gb_per_s for item in load_gpus(path).values()}
    return CopyBandwidths({device: float(rate) for device, rate in measured.items() if rate is not None})
