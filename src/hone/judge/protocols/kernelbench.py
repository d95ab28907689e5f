"""KernelBench's own timing loop for both sides: comparison with published numbers, never credit.

`time_execution_with_cuda_event` of KernelBench, src/eval.py at branch v0 and src/kernelbench/timing.py at main: warm-up
calls, then trials of one call between two device events, all on the same inputs, and their mean. Host work shows in
it; so does what a solution keeps from one call to the next.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hone.judge.cuda.reference import DeviceReference
from hone.judge.cuda.subject import DeviceSubject
from hone.records import AsPublished

Version = Literal["v0", "main"]
MOST_TRIALS, LEAST_TRIALS, PILOT_TRIALS = 100, 10, 3
SIDE_MS = 1000.0
"""A side's trials take about so long at most."""


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
    pilot_ms, _ = subject.as_published(PILOT_TRIALS, flush=flush)
    trials = _affordable(pilot_ms)
    solution_ms, wall_ms = subject.as_published(trials, flush=flush)
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
