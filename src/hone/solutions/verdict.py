"""A trace in words, for one screen: verdict, speeds, errors, and what every finding means."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from hone.records import Finding, Status, Trace
from hone.records.trace import ErrorFigures, Performance

ID_DIGITS = 12
"""Digits of a solution's id that are shown, as tables do."""
WIDTH = 100
DETAIL_LINES = 12
"""Lines of the detail that are shown; the trace has all of it."""

STATUSES: dict[Status, str] = {
    Status.PASSED: "The outputs are right in every trial.",
    Status.COMPILE_ERROR: "The compiler refused the source.",
    Status.LOAD_ERROR: "The module could not be loaded, or its entry point is missing.",
    Status.RUNTIME_ERROR: "An exception, a signal or an exit stopped the kernel.",
    Status.OUT_OF_MEMORY: "The kernel asked for more memory than the protocol allows or the device has.",
    Status.TIMEOUT: "A run took longer than the protocol allows.",
    Status.WRONG_SHAPE: "The outputs differ from the reference's in number, shape or data type.",
    Status.WRONG_VALUE: "Values of the outputs are wrong.",
    Status.INPUT_CHANGED: "The kernel wrote to an input that the reference leaves alone.",
    Status.IMPRECISE: "The outputs are far less exact than the baseline's, as from a smaller number format.",
    Status.NOT_JUDGED: "This machine cannot judge the kernel. This says nothing about the kernel.",
    Status.MACHINE_ERROR: "The machine or the judge failed. This says nothing about the kernel.",
}
FINDINGS: dict[Finding, str] = {
    "below_floor": "It is faster than the device can move its inputs and outputs.",
    "fallback": "A kernel of the module could not be built, and the module went on without it.",
    "no_custom_kernel": "The module has no kernel of its own, or its results are the same without it.",
    "reuses_outputs": "It returns a buffer that its next call writes over.",
    "precision_unchecked": "There was nothing to measure the precision against.",
    "slow_times": "The samples fall into two groups, in a fresh process too.",
}


def verdict_lines(trace: Trace, name: str, confidence: float = 0.95) -> Iterator[str]:
    """The verdict on the kernel that the user calls `name`, line by line; `confidence` of the intervals, 0 to 1."""
    yield f"{name}: {trace.status}"
    yield f"  {STATUSES[trace.status]}"
    if trace.detail:
        yield from _detail(trace.detail)
    if trace.performance:
        yield from _speeds(trace.performance, confidence)
    elif trace.status is Status.PASSED:
        yield "  speedup       not timed: the protocol takes no times"
    if trace.errors:
        yield from _errors(trace.errors)
    if trace.status_as_published:
        yield f"  as published  {trace.status_as_published} by KernelBench's rule"
    if published := trace.as_published:
        for baseline in published.baselines_ms:
            speedup = f"{published.speedup(baseline):.2f} times {baseline}"
            yield f"  as published  {speedup} by KernelBench's own loop ({published.version})"
    for finding in trace.performance.findings if trace.performance else ():
        yield f"  finding       {finding}: {FINDINGS[finding]}"
    if trace.performance and trace.performance.findings:
        yield "                With a finding, the time is shown but earns no speedup."
    machine = trace.environment
    yield f"  judged on     {machine.device}, PyTorch {machine.torch}, protocol {trace.protocol.name}"
    yield f"  judged at     {trace.judged_at}"
    yield f"  solution      {trace.solution[:ID_DIGITS]} for {trace.definition}"


def _detail(detail: str) -> Iterator[str]:
    lines = [part for line in detail.splitlines() for part in textwrap.wrap(line, WIDTH - 2) or [""]]
    yield from (f"  {line}" for line in lines[:DETAIL_LINES])
    if len(lines) > DETAIL_LINES:
        yield f"  … {len(lines) - DETAIL_LINES} more lines: --json shows all"


def _speeds(timed: Performance, confidence: float) -> Iterator[str]:
    """Speedup over each baseline with its interval, and the published clock's beside it."""
    from hone.analysis.metrics import paired_ratio_interval

    own = timed.solution
    for name, baseline in timed.baselines.items():
        low, high = paired_ratio_interval(baseline.samples_ms, own.samples_ms, confidence)
        interval = "" if math.isnan(low) else f" ({confidence:.0%} interval {low:.2f} to {high:.2f})"
        yield f"  speedup       {timed.speedup(name):.2f} times {name}{interval}"
        yield f"                {own.latency_ms:.4g} ms beside {baseline.latency_ms:.4g} ms, medians"


def _errors(errors: ErrorFigures) -> Iterator[str]:
    yield (
        f"  largest error {errors.max_abs_error:.3g} absolute, {errors.max_rel_error:.3g} relative; "
        f"{errors.wrong_fraction:.3%} of the elements outside the tolerance"
    )
    if errors.exact_error is not None:
        beside = "" if errors.baseline_exact_error is None else f"; the baseline's is {errors.baseline_exact_error:.3g}"
        yield f"  precision     {errors.exact_error:.3g} from the exact result{beside}"
