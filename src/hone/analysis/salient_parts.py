"""Parts of a device system's epoch by number of processes, and what they come to on more than were measured."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hone.analysis.context import Cells
from hone.analysis.salient import Trained, mean_and_std
from hone.records.gnn import EpochParts, ProcessParts

PARTS = tuple(ProcessParts.model_fields)
HIDDEN = "sample_s"
"""Runs beside the others, which add up to the epoch."""
FORECAST_GPUS = (8, 16)
"""The paper's largest numbers."""


@dataclass(frozen=True)
class Forecast:
    """An epoch that nobody measured."""

    gpus: int
    measured: tuple[int, ...]
    """Numbers of processes that it is worked out from."""
    part_us: Cells
    """Of a batch, as `part_us` has them."""
    epoch_s: float


def part_seconds(group: Trained) -> Cells:
    """Each part's seconds in the epoch with timers, and that epoch's, means over processes and runs; NaN without."""
    watched = _watched(group)
    found: Cells = {name: mean_and_std(_of_processes(watched, name))[0] for name in PARTS}
    return {**found, "parts_epoch_s": mean_and_std(parts.epoch_s for parts in watched)[0]}


def part_us(group: Trained) -> Cells:
    """Each part in microseconds a batch, `…_us`; NaN without."""
    seconds, batches = part_seconds(group), [parts.batches for parts in _watched(group) if parts.batches]
    each = 1e6 / batches[0] if batches else math.nan
    return {_in_us(name): each * seconds[name] for name in PARTS}


def forecasts(groups: Sequence[Trained], numbers: Iterable[int] = FORECAST_GPUS) -> list[Forecast]:
    """Epochs on more processes than these trainings had, which differ in their number alone.

    A part of a batch is a straight line over the doublings of processes, fitted to those measured from two on: one
    process sums and waits for nobody. It may grow and not shrink. Empty with less than two such numbers.
    """
    measured = {group.place.gpus: part_us(group) for group in groups if group.place.gpus > 1}
    measured = {gpus: parts for gpus, parts in sorted(measured.items()) if not math.isnan(parts["step_us"])}
    if len(measured) < 2:
        return []
    run = groups[0].runs[0]
    return [
        _forecast(gpus, measured, math.ceil(run.num_train / (run.batch_size * gpus)))
        for gpus in numbers
        if gpus > max(measured)
    ]


def _forecast(gpus: int, measured: dict[int, Cells], batches: int) -> Forecast:
    doublings = np.log2(list(measured))
    part_us: Cells = {}
    for name in map(_in_us, PARTS):
        values = np.array([parts[name] for parts in measured.values()])
        slope = max(0.0, float(np.polyfit(doublings, values, 1)[0]))
        part_us[name] = float(values.mean() + slope * (np.log2(gpus) - doublings.mean()))
    batch_us = sum(part_us[_in_us(name)] for name in PARTS if name != HIDDEN)
    return Forecast(gpus, tuple(measured), part_us, batches * batch_us / 1e6)


def _watched(group: Trained) -> list[EpochParts]:
    return [run.parts for run in group.runs if run.parts is not None]


def _of_processes(watched: Iterable[EpochParts], name: str) -> list[float]:
    return [getattr(process, name) for process in itertools.chain.from_iterable(parts.processes for parts in watched)]


def _in_us(name: str) -> str:
    return f"{name.removesuffix('_s')}_us"
