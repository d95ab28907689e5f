"""The least time that a kernel can take on a GPU: what prompts name as the goal, and what ends a search.

The judge has another bound, for suspicion: no kernel is faster, so outputs may stay in the L2 cache there, and memory
is as fast as in the data sheet. Here every compulsory byte counts once, at the speed of the best copy. The judge's runs
follow each other at new addresses with a full cache: what a run leaves in it pushes as much out to memory.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from hone.machine.hardware import GPU, GPUS, load_gpus
from hone.records import Trace


@dataclass(frozen=True)
class LeastTime:
    """The least time for so many bytes on one GPU."""

    us: float
    source: str
    """What it was computed with, for people."""


def least_time(nbytes: int, trace: Trace, path: Path = GPUS) -> LeastTime | None:
    """For a verdict on a workload that moves `nbytes`; None where the table has no GPU of the name that judged it.

    The longest of: bytes over the copy bandwidth (the data sheet's where no copy was measured), the shortest time of
    any kernel, and the judge's own bound, which also counts operations.
    """
    found = _by_device(path).get(trace.environment.device)
    if found is None or trace.performance is None:
        return None
    measured = found.copy_bandwidth_gb_per_s
    rate = measured or found.memory_bandwidth_gb_per_s
    bounds = (nbytes / rate / 1e3, found.shortest_kernel_us or 0.0, 1e3 * trace.performance.floor_ms)
    what = "a copy's" if measured else "the data sheet's"
    return LeastTime(max(bounds), f"{what} {rate} GB/s" + _shortest(found))


def _shortest(gpu: GPU) -> str:
    return f", {gpu.shortest_kernel_us:g} us at least" if gpu.shortest_kernel_us else ""


@functools.cache
def _by_device(path: Path) -> dict[str, GPU]:
    return {item.device: item for item in load_gpus(path).values()}
