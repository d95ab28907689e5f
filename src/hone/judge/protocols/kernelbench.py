"""KernelBench's own timing loop for both sides: comparison with published numbers, never credit.

`time_execution_with_cuda_event` of KernelBench, src/eval.py at branch v0 and src/kernelbench/timing.py at main: warm-up
calls, then trials of one call between two device events, all on the same inputs, and their mean. Host work shows in
it; so does what a solution keeps from one call to the next.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.records import AsPublished

Version = Literal["v0", "main"]
MOST_TRIALS, LEAST_TRIALS, PILOT_TRIALS = 100, 5, 1
SIDE_MS, LONG_MS = 250.0, 100.0
"""A side's trials take about so long at most; one trial is enough for calls that take so long."""


def measure_as_published(
    reference: DeviceReference, subject: DeviceSubject, scalars: Sequence[Mapping[str, Any]],
    baselines: Sequence[str], version: Version,
) -> AsPublished:  # fmt: skip
    """Times of a loaded solution and of PyTorch's baselines; `scalars`: one mapping of plain numbers.

    Raises Verdict for what goes wrong in the solution's process.
    """
    flush = version == "main"
    seeds = random.SystemRandom()
    subject.prepare(seeds.getrandbits(30), scalars)
    reference.refresh(seeds.getrandbits(30), seeds.getrandbits(30), 1)
    reference.reveal(0, 1)
    trials = PILOT_TRIALS
    solution_ms, wall_ms = subject.as_published(trials, 0.0, flush=flush)
    if solution_ms < LONG_MS:  # of a longer call the first look will do
        trials = _affordable(solution_ms)
        solution_ms, wall_ms = subject.as_published(trials, solution_ms, flush=flush)
    baselines_ms = {name: baseline_as_published(reference, name, version) for name in baselines}
    return AsPublished(
        version=version, trials=trials, solution_ms=solution_ms, baselines_ms=baselines_ms, solution_wall_ms=wall_ms
    )


def baseline_as_published(reference: DeviceReference, name: str, version: Version) -> float:
    """Mean milliseconds of a call of a baseline, taken once: ask before a solution has left anything on the GPU."""
    return reference.published_ms(name, PILOT_TRIALS, _affordable, flush=version == "main")


def _affordable(call_ms: float) -> int:
    """Trials of a call that takes so long."""
    return max(LEAST_TRIALS, min(MOST_TRIALS, int(SIDE_MS / max(call_ms, 1e-3))))
