"""What was really measured, as text for a prompt: every role and the single agent are shown the same.

Latencies have intervals and stand beside the existing kernel's of the same run, with bytes, bandwidth and the least
possible time. The compiler adds registers, shared memory and spills. Hardware counters follow where there are any, then
failures. All of it comes from records alone: a replay renders the same text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hone.config.experiments import UPSTREAM, Rounds
from hone.methods.astra.history import JUDGES_BOUND, History, Version
from hone.methods.astra.roofline import least_time
from hone.methods.feedback import failure
from hone.records import Build, Performance, Trace, Workload
from hone.selection.rank import credited_speedup
from hone.sources.workloads import moved_bytes

CONFIDENCE = 0.95
NO_COUNTERS = "Hardware counters (Nsight Compute) were not available; nothing here was read from them."
NO_RESOURCES = "The compiler gave no figures for registers, shared memory or spills."
MEASURED = (
    "Each workload: {clock}, median and {confidence:.0%} interval, the existing kernel and this one in turns in the "
    "same run. Bytes are compulsory: every input and output once. The floor is the least time that they can take."
)
STEERING = (
    "Each workload: {clock}, median and {confidence:.0%} interval, the existing kernel and this one in turns in the "
    "same run. Bytes are compulsory: every input and output once, and again what is written in place. Outputs count in "
    "full, even those that fit the L2 cache: runs follow each other, and what one leaves there pushes as much out. The "
    "floor is the time of so many bytes at {source}. Possible gain is time over floor: below {little:.2f} there is "
    "nothing left to win."
)
CLOCKS = {True: "device time with a cold L2 cache", False: "wall time of a call"}


def evidence(history: History, start: Version, options: Rounds) -> str:
    """Everything that the next round is told: the version that it starts from, and what the last round gave."""
    last = history.chosen(history.last_turn)
    parts = [describe(history, start, options)]
    if last.turn != start.turn:
        parts += [
            f"The last round did not become the starting point. {_verdict(history, last)}",
            describe(history, last, options),
        ]
    return "\n\n".join(parts)


def describe(history: History, version: Version, options: Rounds = JUDGES_BOUND) -> str:
    """One version: its measurements, its resources, and what went wrong."""
    parts = [f"### Measurements of {version.label}"]
    if version.solution is None:
        return "\n\n".join([*parts, f"The answer held no usable code: {version.attempt.problem}."])
    timed = [item for item in history.suite if _performance(version, item) is not None]
    if timed:
        on_gpu = any(
            trace.performance is not None and trace.performance.clock is not None for trace in version.traces.values()
        )
        parts += [_explained(version, CLOCKS[on_gpu], options), latency_table(history, version, timed, options)]
    parts += [*failures(history, version), resources(version.build), counters(version.traces.values())]
    return "\n\n".join(parts)


def _explained(version: Version, clock: str, options: Rounds) -> str:
    """What the columns mean; steering where the GPU's speed is known."""
    least = next((found for trace in version.traces.values() if (found := least_time(0, trace))), None)
    if not options.roofline or least is None:
        return MEASURED.format(clock=clock, confidence=CONFIDENCE)
    little = 1 / (options.enough_share or 1)
    return STEERING.format(clock=clock, confidence=CONFIDENCE, source=least.source, little=little)


def latency_table(
    history: History, version: Version, workloads: Sequence[Workload], options: Rounds = JUDGES_BOUND
) -> str:  # fmt: skip
    """One row a workload, with unknown figures left as `-`."""
    head = ("workload", "type", "sizes", "time us", "interval us", "existing us", "speedup", "MB", "GB/s")
    floor = ("floor us", "of floor", "possible gain") if options.roofline else ("of floor",)
    rows = [_row(history, version, item, options) for item in workloads]
    return table((*head, *floor, "clock", "remarks"), rows)


def _row(history: History, version: Version, workload: Workload, options: Rounds) -> list[str]:
    performance = _performance(version, workload)
    assert performance is not None
    time_ms, nbytes = performance.solution.latency_ms, moved_bytes(history.definition, workload)
    low, high = median_interval(performance.solution.samples_ms)
    existing = performance.baselines.get(UPSTREAM)
    return [
        workload.name,
        workload.dtype,
        sizes(workload),
        us(time_ms),
        f"{us(low)} to {us(high)}",
        us(existing.latency_ms) if existing else "-",
        f"{performance.speedup(UPSTREAM):.3f}" if existing else "-",
        f"{nbytes / 1e6:.4g}",
        f"{nbytes / (time_ms * 1e6):.4g}",
        *_floor_cells(history.floor_us(version, workload, options), 1e3 * time_ms, options),
        f"{performance.clock.source}, {performance.clock.mode}" if performance.clock else "the judge's own",
        _remarks(performance, counted=workload in history.counted),
    ]


def _floor_cells(floor_us: float | None, time_us: float, options: Rounds) -> list[str]:
    """The share of the floor; with steering the floor before it and what is left to gain behind it."""
    if floor_us is None:
        return ["-"] * (3 if options.roofline else 1)
    share = f"{floor_us / time_us:.0%}"
    return [f"{floor_us:.4g}", share, _gain(floor_us / time_us)] if options.roofline else [share]


def _gain(share: float) -> str:
    return f"{max(1.0, 1 / share):.2f}"


def _remarks(performance: Performance, *, counted: bool) -> str:
    found = [f"doubtful, earns nothing: {', '.join(performance.findings)}"] if performance.findings else []
    if performance.clock is not None and performance.clock.charged_ms > 0:
        found.append(f"{us(performance.clock.charged_ms)} us were added for work outside the launch")
    if not counted:
        found.append("not counted: the existing kernel itself has no valid time here")
    return "; ".join(found) or "-"


def failures(history: History, version: Version) -> list[str]:
    """A paragraph for each kind of failure, with the workloads that it came up on."""
    by_text: dict[str, list[str]] = {}
    for workload in history.suite:
        text = failure(version.build, version.traces.get(workload.id))
        if text:
            by_text.setdefault(text, []).append(workload.name)
    return [
        f"All workloads: {text}" if len(names) == len(history.suite) else f"On {', '.join(names)}: {text}"
        for text, names in by_text.items()
    ]


def resources(build: Build | None) -> str:
    """What the compiler says that each kernel takes."""
    if build is None or not build.resources:
        return NO_RESOURCES
    head = ("kernel", "registers a thread", "static shared bytes", "spill store bytes", "spill load bytes")
    rows = [
        (item.kernel, item.registers, item.shared_bytes, item.spill_store_bytes, item.spill_load_bytes)
        for item in build.resources
    ]
    return "Resources, from the compiler:\n\n" + table(head, [[str(cell) for cell in row] for row in rows])


def counters(traces: Iterable[Trace]) -> str:
    """Hardware counters that the traces hold, or that there are none."""
    found = {trace.workload: getattr(trace, "counters", None) for trace in traces}
    rows = [[name, f"{value:.6g}"] for values in found.values() if values for name, value in sorted(values.items())]
    return "Hardware counters:\n\n" + table(("counter", "value"), rows) if rows else NO_COUNTERS


def overview(history: History, start: Version, options: Rounds) -> str:
    """All rounds so far in one table."""
    gains = ("possible gain",) if options.roofline else ()
    head = ("version", "outcome", "speedup over the existing kernel", "share of the floor", *gains, "started from next")
    rows = []
    for version in history.versions:
        speedup, share = history.speedup(version), history.floor_share(version, options)
        rows.append(
            [
                version.label,
                _outcome(history, version),
                f"{speedup:.3f}" if speedup is not None else "-",
                f"{share:.0%}" if share is not None else "-",
                *([_gain(share) if share is not None else "-"] if options.roofline else []),
                "yes" if version is start else "",
            ]
        )
    return f"Speedup and share are geometric means over {len(history.counted)} workloads.\n\n" + table(head, rows)


def _outcome(history: History, version: Version) -> str:
    if version.solution is None:
        return version.attempt.problem
    if history.speedup(version) is not None:
        return "passed"
    statuses = {trace.status.value for trace in version.traces.values() if credited_speedup(trace) is None} - {"passed"}
    return (
        f"{history.passes(version)} of {len(history.counted)} workloads passed ({', '.join(sorted(statuses)) or '-'})"
    )


def _verdict(history: History, version: Version) -> str:
    speedup, best = history.speedup(version), history.speedup(history.best)
    if speedup is None or best is None:
        return f"{version.label.capitalize()} did not pass."
    return f"{version.label.capitalize()} passed at a speedup of {speedup:.3f}; the best so far is {best:.3f}."


def _performance(version: Version, workload: Workload) -> Performance | None:
    trace = version.traces.get(workload.id)
    return trace.performance if trace else None


def sizes(workload: Workload) -> str:
    """A workload's axes in words."""
    return ", ".join(f"{axis}={size}" for axis, size in workload.axes.items())


def us(time_ms: float) -> str:
    """A time in microseconds."""
    return f"{1000 * time_ms:.4g}"


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """Interval of the median by order statistics, exact whatever the distribution: at least CONFIDENCE.

    With fewer than six samples no pair of them is so sure; then it is the whole range.
    """
    ordered, count = sorted(samples), len(samples)
    tail, rank = 0.0, 0
    while rank < count // 2:
        tail += math.comb(count, rank) / 2**count
        if tail > (1 - CONFIDENCE) / 2:
            break
        rank += 1
    first = max(rank - 1, 0)
    return ordered[first], ordered[count - 1 - first]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
