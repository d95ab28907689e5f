"""What a solution's time is when two clocks have seen it: pure functions.

The device's clock (events, CUPTI) is read by the solution's own process, which may lie. The judge's clock runs from the
question to the answer, and on until nobody's work is left on the GPU; it cannot be reached, but it also counts the way
to the process and back. What the judge saw beyond the claim, the usual way and the noise of both is charged.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from hone.records import Charged

SLACK_SHARE = 0.03
LEAST_SLACK_MS = 0.03
MOST_SLACK_SHARE, LONG_SLACK_SHARE = 0.25, 0.05
NOISE_FACTOR = 2.0
MOST_NOISE_MS = 0.1
"""Noise of the judge's clock per batch: twice what empty batches spread by, within limits, and three per cent.

Of a very short claim it is a quarter at most: a much faster solution could else claim anything. It is a twentieth where
batches had to be single runs.
"""
STORE_SLACK_SHARE = 0.25
EARLY_SLACK_SHARE = 0.1
GAP_FACTOR = 1.5
LEAST_GAP_MS = 0.0002
SLOW_FACTOR, LEAST_SAMPLES = 1.12, 5
"""Medians of batches behind gates lie within some three per cent of their fastest samples (H200)."""
BUSY_SHARE = 0.05
"""Kernels in a graph lie closer or further apart than the baseline's: half of its gap more, and five per cent."""


@dataclass(frozen=True)
class Observation:
    """One timed batch of a solution; milliseconds."""

    claimed_ms: float
    """By device events."""
    wall_ms: float
    """By the judge's clock, from question to answer."""
    settle_ms: float
    """From the answer until the GPU was idle."""
    store_ms: float = 0.0
    """What copying the results took after the answer; nothing where the solution writes to the outputs itself."""
    early_ms: float = 0.0
    """From when the inputs were shown until the GPU was idle, before the solution was asked."""
    collect_ms: float = 0.0
    """What asking for the time of a graph took, where the process could still work on its results."""


@dataclass(frozen=True)
class Overhead:
    """What an empty batch takes, by the judge's clock, and a copy of honest results; milliseconds."""

    wall_ms: float
    settle_ms: float
    store_ms: float = 0.0
    early_ms: float = 0.0
    noise_ms: float = 0.0
    """What the longest of the empty batches took beyond the median."""
    collect_ms: float = 0.0


def usual_overhead(walls_ms: Sequence[float], settles_ms: Sequence[float]) -> Overhead:
    """Medians of empty batches, and how far the longest lie above them."""
    wall_ms, settle_ms = statistics.median(walls_ms), statistics.median(settles_ms)
    return Overhead(wall_ms, settle_ms, noise_ms=max(walls_ms) - wall_ms + max(settles_ms) - settle_ms)


def between(points: Sequence[tuple[int, float]], sets: int) -> float:
    """On the line through two (sets, milliseconds)."""
    (_, one_ms), (most, most_ms) = points
    return one_ms + ((sets - 1) / (most - 1) if most > 1 else 0.0) * (most_ms - one_ms)


def beyond_ms(seen: Observation, usual: Overhead) -> dict[Charged, float]:
    """What the judge saw beyond the claim and the usual way, by where it saw that."""
    parts: dict[Charged, float] = {
        "running": seen.wall_ms - usual.wall_ms - seen.claimed_ms,
        "settling": seen.settle_ms - usual.settle_ms,
        "reading": seen.store_ms + seen.collect_ms - usual.store_ms - usual.collect_ms,
        "showing": seen.early_ms - usual.early_ms,
    }
    return {place: max(0.0, part) for place, part in parts.items()}


def unexplained_ms(seen: Observation, usual: Overhead, noise_share: float = MOST_SLACK_SHARE) -> float:
    """Work of the batch that the claim leaves out; 0 where clocks agree within their noise.

    One slack for all places where work can hide, so that nobody can use several at once. Copying results and showing
    inputs spread by a share of their own, which is no discount on the claim. `noise_share`: what noise may be of the
    claim; with 0 there is no slack at all.
    """
    noise_ms = max(LEAST_SLACK_MS, NOISE_FACTOR * min(usual.noise_ms, MOST_NOISE_MS))
    slack = min(noise_ms, noise_share * seen.claimed_ms) + SLACK_SHARE * seen.claimed_ms
    parts = beyond_ms(seen, usual)
    more = {"reading": STORE_SLACK_SHARE * usual.store_ms, "showing": EARLY_SLACK_SHARE * usual.early_ms}
    used = sum(max(0.0, part - more.get(place, 0.0)) for place, part in parts.items())
    return sum(parts.values()) if used > slack or noise_share == 0 else 0.0


def lower_half(samples: Sequence[float]) -> list[int]:
    """Places of the lower half, in order."""
    lowest = sorted(range(len(samples)), key=samples.__getitem__)
    return sorted(lowest[: (len(samples) + 1) // 2])


def slow_times(samples: Sequence[float]) -> bool:
    """Whether most samples lie far above the fastest ones, as where a process has a second, slower kind of times."""
    ordered = sorted(samples)
    if len(ordered) < LEAST_SAMPLES:
        return False
    return ordered[len(ordered) // 2] > SLOW_FACTOR * ordered[len(ordered) // 8]


def believable_busy_ms(busy_ms: float, run_ms: float, gap_ms: float) -> bool:
    """Whether kernels that claim to be busy so long per run can fill a graph that takes `run_ms` per run.

    `gap_ms`: what the baseline, whose times can be trusted, loses between the two.
    """
    return run_ms - busy_ms <= GAP_FACTOR * max(gap_ms, LEAST_GAP_MS) + BUSY_SHARE * busy_ms


def floor_ms(
    read_bytes: int, written_bytes: int, flops: int, *, bandwidth_gbs: float, peak_gflops: float, l2_bytes: int
) -> float:
    """Speed of light: inputs come from memory, outputs may stay in the L2 cache; or operations at the peak rate.

    The peak is that of the matrix units on 16-bit numbers: no implementation is faster.
    """
    moved = read_bytes + max(0, written_bytes - l2_bytes)
    return max(moved / bandwidth_gbs, flops / peak_gflops) / 1e6
