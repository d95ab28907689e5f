"""One timed batch: the same few lines for baseline, Python candidate and .cu candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hone.judge.device.cuda import driver
from hone.judge.device.cuda.cupti import CuptiMissingError, Spans

PUBLISHED_WARMUPS, PUBLISHED_FLUSH_BYTES = 3, 256 << 20
"""Calls before KernelBench's trials; what its branch main writes to make the L2 cache forget."""


@dataclass(frozen=True)
class Gate:
    """Addresses of words in shared memory: each run of a batch waits for one, the last tells its end through another.

    So the judge can let a batch run in two parts, and change the inputs of the second in between: a solution that
    computes everything in its first run cannot have them.
    """

    base: int

    def open_word(self, run: int) -> int:
        """Set by the judge."""
        return self.base + 4 * run

    @property
    def done_word(self) -> int:
        """Set behind the last run."""
        return self.base + 1024

    @property
    def scratch_word(self) -> int:
        """Of no meaning."""
        return self.base + 2048

    def wait(self, stream: Any, run: int) -> None:
        """Let the stream wait until the judge lets this run begin."""
        driver.wait_for_word(stream, self.open_word(run), 1)


class Clock:
    """Device events around the work of one stream; CUPTI where it is there."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._start, self._end = driver.new_event(), driver.new_event()
        self._scratch = driver.allocate_private(4)  # of no meaning
        self._spans: Spans | None = None

    def time(self, work: Callable[[], object]) -> float:
        """Milliseconds of device time of everything that `work` puts on the stream; the device is idle afterwards.

        The GPU is this process's when the clock starts. Where another one had it before, it would else come to the
        start late, and what the host has launched until then would take no time.
        """
        driver.fill_words(self.stream, self._scratch, 0, 1)
        driver.synchronize()
        driver.record(self._start, self.stream)
        work()
        driver.record(self._end, self.stream)
        driver.synchronize()
        return driver.elapsed_ms(self._start, self._end)

    def arm(self, work: Callable[[], object], gate: Gate, value: int) -> None:
        """Put `work` on the stream behind a gate that somebody else opens; `collect` reads the time."""
        gate.wait(self.stream, 0)
        driver.record(self._start, self.stream)
        work()
        driver.record(self._end, self.stream)
        driver.set_word_after(self.stream, gate.done_word, value)

    def published_ms(self, call: Callable[[], object], trials: int, *, flush: bool) -> float:
        """Mean milliseconds of a call between two events, as KernelBench takes times; see `records.AsPublished`.

        `flush`: write over the L2 cache before each trial, and leave the first trial out. A single trial is a look at
        how long a call takes: after one warm-up.
        """
        scratch = driver.allocate_private(PUBLISHED_FLUSH_BYTES) if flush else 0
        for _ in range(min(PUBLISHED_WARMUPS, trials)):
            call()
            driver.synchronize()
        taken = [self._published_trial(call, scratch) for _ in range(trials + int(flush and trials > 1))]
        if scratch:
            driver.free_private(scratch)
        counted = taken[-trials:]
        return sum(counted) / len(counted)

    def _published_trial(self, call: Callable[[], object], scratch: int) -> float:
        if scratch:
            driver.fill_words(self.stream, scratch, 42, PUBLISHED_FLUSH_BYTES // 4)
        driver.record(self._start, self.stream)
        kept = call()
        driver.record(self._end, self.stream)
        driver.synchronize()
        del kept
        return driver.elapsed_ms(self._start, self._end)

    def collect(self) -> float:
        """Milliseconds of device time of what was armed, when it is done."""
        driver.synchronize()
        return driver.elapsed_ms(self._start, self._end)

    def null_graph(self, gate: Gate, count: int) -> Any:
        """A graph of `count` steps that do nothing."""
        stream = driver.new_stream()
        driver.begin_capture(stream)
        for run in range(count):
            gate.wait(stream, run)
            driver.fill_words(stream, gate.scratch_word, 0, 1)
        return driver.end_capture(stream)

    def gates_graph(self, gate: Gate, count: int) -> Any:
        """A graph of nothing but the gates of `count` runs."""
        stream = driver.new_stream()
        driver.begin_capture(stream)
        for run in range(count):
            gate.wait(stream, run)
        return driver.end_capture(stream)

    def busy_ms(self, runs: list[Callable[[], object]]) -> dict[str, Any]:
        """Mean time over runs in which a kernel, copy or memset of the run was going on, and their number per run.

        `busy_ms` is absent, with a sentence in `missing`, when CUPTI is not there or kernels cannot be told apart.
        """
        try:
            self._spans = self._spans or Spans()
            self._spans.start()
            for run in runs:
                run()
            driver.synchronize()
            found = self._spans.stop()
        except CuptiMissingError as error:
            return {"missing": str(error)}
        per_run, rest = divmod(len(found), len(runs))
        if rest or not per_run:
            return {"missing": f"{len(found)} kernels in {len(runs)} runs"}
        return {"busy_ms": _covered_ns(found) / len(runs) / 1e6, "kernels": per_run}


def _covered_ns(intervals: list[tuple[int, int]]) -> int:
    """Length of the union of intervals that are sorted by start."""
    covered, reached = 0, 0
    for start, end in intervals:
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return covered
