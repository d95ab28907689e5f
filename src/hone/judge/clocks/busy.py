"""CUPTI's times of short runs, where they can be believed."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.judge.clocks.observation import believable_busy_ms

BUSY_BELOW_MS = 0.05
"""For runs shorter than this CUPTI's times of the kernels are the figure."""
BUSY_BATCHES = 7


def busy_samples_ms(
    names: Sequence[str], samples_ms: Mapping[str, Sequence[float]], spans: Callable[[str], dict[str, Any]]
) -> dict[str, list[float]]:
    """Samples for all sides, the solution first; empty where runs are long, CUPTI is not there or not to be believed.

    `samples_ms`: what the device's events gave, for each run. `spans`: a batch under CUPTI, as `Clock.busy_ms` has it.
    """
    run_ms = _medians(samples_ms)
    if min(run_ms.values()) > BUSY_BELOW_MS:
        return {}
    found: dict[str, list[float]] = {name: [] for name in names}
    kernels = dict.fromkeys(names, 1)
    for _ in range(BUSY_BATCHES):
        for name in random.SystemRandom().sample(names, len(names)):
            answer = spans(name)
            if "busy_ms" not in answer:
                return {}
            found[name].append(answer["busy_ms"])
            kernels[name] = answer["kernels"]
    solution, *others = names
    busy_ms = _medians(found)
    each_ms = max(((run_ms[name] - busy_ms[name]) / kernels[name] for name in others), default=0.0)
    gap_ms = each_ms * min(kernels[solution], max((kernels[name] for name in others), default=1))
    return found if believable_busy_ms(busy_ms[solution], run_ms[solution], gap_ms) else {}


def _medians(samples_ms: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in samples_ms.items()}
