"""Times of several callables in turns: as CUDA graphs with a cold L2 cache, or plainly on a CPU."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from hone.analysis.metrics import SEED, Floats, Interval, bootstrap_interval
from hone.judge.device.cuda.models import captured_graph

FLUSH_BYTES = 512 << 20
"""Several times the largest L2 cache."""
WARM_UP = 3


class Timed(Protocol):
    """Something of which one run can be timed."""

    def run_us(self) -> float:
        """Microseconds of one run, after whatever has to be put back before it."""


class CpuRun:
    """A call on the CPU, by the process's own clock."""

    def __init__(self, call: Callable[[], object], reset: Callable[[], object]) -> None:
        self._call, self._reset = call, reset

    def run_us(self) -> float:
        """As `Timed`."""
        self._reset()
        started = time.perf_counter()
        self._call()
        return (time.perf_counter() - started) * 1e6


class GraphRun:
    """Calls captured in one CUDA graph, timed by events around its replay; `count` calls are one after the other."""

    _flusher: Any = None

    def __init__(self, call: Callable[[], object], reset: Callable[[], object], count: int = 1) -> None:
        """Captures; what the call returns is kept, so that its memory stays the graph's."""
        self._reset, self._count = reset, count
        if GraphRun._flusher is None:
            GraphRun._flusher = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries allocate and choose at their first calls
            for _ in range(WARM_UP):
                reset()
                call()
        torch.cuda.current_stream().wait_stream(aside)
        with captured_graph() as self._graph:
            self._kept = [call() for _ in range(count)]
        self._start, self._end = (_event() for _ in range(2))

    def run_us(self) -> float:
        """As `Timed`; the flush also gives the replay time to be launched."""
        self._reset()
        GraphRun._flusher.zero_()
        self._start.record()
        self._graph.replay()
        self._end.record()
        self._end.synchronize()
        return float(self._start.elapsed_time(self._end)) * 1e3 / self._count


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def timed(call: Callable[[], object], reset: Callable[[], object], device: str, count: int = 1) -> Timed:
    """The way to time on a device."""
    return GraphRun(call, reset, count) if device == "cuda" else CpuRun(call, reset)


def in_turns(runs: Mapping[str, Timed], turns: int, seed: int = 0) -> dict[str, list[float]]:
    """Microseconds by name, `turns` each: in every turn each runs once, in random order. One turn more is dropped."""
    order, chance = list(runs), random.Random(seed)
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(-1, turns):
        chance.shuffle(order)
        for name in order:
            spent_us = runs[name].run_us()
            if turn >= 0:
                samples[name].append(spent_us)
    return samples


def median_interval(samples: Sequence[float], confidence: float = 0.95) -> Interval:
    """Bootstrap interval of the median; the single value twice where there is only one."""
    if len(samples) < 2:
        return Interval(samples[0], samples[0])
    return bootstrap_interval((samples,), _median, confidence, np.random.default_rng(SEED))


def _median(values: Floats, axis: int = -1) -> Floats:
    found: Floats = np.median(values, axis=axis)
    return found
