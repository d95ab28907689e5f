"""Where an epoch's time goes: an observer is handed to the loop and its stages, which run the same code without one.

Work of the host is timed by the monotonic clock, work of a GPU by CUDA events on the stream that does it, which cost
no synchronisation until the epoch is over. The training loop is blocked while its device waits between two steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from hone.records.gnn import Span, Stage

if TYPE_CHECKING:
    import torch

    from hone.gnn.batch import Batch


class Observer(Protocol):
    """What stages and loop tell; none of it may change what they do."""

    def begin_epoch(self) -> None:
        """The loop is about to ask for the first batch."""

    def end_epoch(self) -> None:
        """The last step has been asked for; may wait for the device."""

    def on_host(self, stage: Stage, batch: int, lane: str) -> AbstractContextManager[None]:
        """Around work that this thread of the host does itself."""

    def on_device(self, stage: Stage, batch: int, lane: str) -> AbstractContextManager[None]:
        """Around work that is given to the device, on the current stream."""

    def prepared(self, batch: Batch) -> None:
        """A batch has come from a worker; it knows when and where it was prepared."""


class NullObserver:
    """Observes nothing."""

    def begin_epoch(self) -> None:
        """Nothing."""

    def end_epoch(self) -> None:
        """Nothing."""

    def on_host(self, stage: Stage, batch: int, lane: str) -> AbstractContextManager[None]:
        """Nothing around the work."""
        return nullcontext()

    def on_device(self, stage: Stage, batch: int, lane: str) -> AbstractContextManager[None]:
        """Nothing around the work."""
        return nullcontext()

    def prepared(self, batch: Batch) -> None:
        """Nothing."""


class Clock(Protocol):
    """Marks moments; what they were is asked after the epoch."""

    def begin(self) -> None:
        """Time zero."""

    def mark(self) -> Any:
        """This moment."""

    def finish(self) -> None:
        """Wait until every mark has passed."""

    def seconds(self, mark: Any) -> float:
        """Since time zero; after `finish`."""


class HostClock:
    """The monotonic clock, the same in all processes of a machine."""

    def begin(self) -> None:
        """Time zero."""
        self.zero = time.perf_counter()

    def mark(self) -> float:
        """This moment, on the clock of `Batch.prepared_s`."""
        return time.perf_counter()

    def finish(self) -> None:
        """Nothing is outstanding on a host."""

    def seconds(self, mark: float) -> float:
        """Since time zero."""
        return mark - self.zero


class EventClock:
    """CUDA events on the current stream of one GPU. Not run in the tests: it needs a GPU."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def begin(self) -> None:
        """Time zero: the device is idle, so that host and device mean the same moment."""
        import torch

        torch.cuda.synchronize(self.device)
        self.zero = self.mark()

    def mark(self) -> torch.cuda.Event:
        """The moment at which the stream gets here."""
        import torch

        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def finish(self) -> None:
        """Wait for the device."""
        import torch

        torch.cuda.synchronize(self.device)

    def seconds(self, mark: torch.cuda.Event) -> float:
        """Since time zero."""
        elapsed_ms: float = self.zero.elapsed_time(mark)
        return elapsed_ms / 1e3


class SpanObserver:
    """Keeps a span for every piece of work of an epoch."""

    def __init__(self, device: torch.device) -> None:
        """`device` is what the steps run on."""
        self.host = HostClock()
        self.device: Clock = EventClock(device) if device.type == "cuda" else self.host
        self.spans: tuple[Span, ...] = ()
        """Of the last epoch that has ended, by their beginning; those named `blocked` fill the gaps between steps."""
        self._open: list[tuple[Stage, int, str, Any, Any, Clock]] = []

    def begin_epoch(self) -> None:
        """Forget the epoch before."""
        self._open = []
        self.device.begin()
        self.host.begin()

    def end_epoch(self) -> None:
        """Turn marks into spans; waits for the device."""
        self.device.finish()
        spans = []
        for stage, batch, lane, start, stop, clock in self._open:
            start_s, stop_s = clock.seconds(start), clock.seconds(stop)
            spans.append(Span(batch=batch, stage=stage, lane=lane, start_s=start_s, duration_s=stop_s - start_s))
        self.spans = tuple(sorted([*spans, *gaps(spans)], key=lambda span: span.start_s))
        self._open = []

    def on_host(self, stage: Stage, batch: int, lane: str) -> AbstractContextManager[None]:
        """As Observer."""
        return self._span(stage, batch, lane, self.host)

    def on_device(self, stage: Stage, batch: int, lane: str) -> AbstractContextManager[None]:
        """As Observer."""
        return self._span(stage, batch, lane, self.device)

    def prepared(self, batch: Batch) -> None:
        """As Observer."""
        start_s, stop_s = batch.prepared_s
        self._open.append(("prepare", batch.index, f"worker{batch.worker}", start_s, stop_s, self.host))

    def total_s(self, stage: Stage) -> float:
        """Seconds of a stage in the last epoch, over all batches and lanes."""
        return sum(span.duration_s for span in self.spans if span.stage == stage)

    @contextmanager
    def _span(self, stage: Stage, batch: int, lane: str, clock: Clock) -> Iterator[None]:
        start = clock.mark()
        yield
        self._open.append((stage, batch, lane, start, clock.mark(), clock))


def gaps(spans: Sequence[Span]) -> list[Span]:
    """The time before each step in which its device had no step to do."""
    steps = sorted((span for span in spans if span.stage == "train"), key=lambda span: span.start_s)
    found = []
    free_s = 0.0
    for step in steps:
        waited_s = max(0.0, step.start_s - free_s)
        found.append(Span(batch=step.batch, stage="blocked", lane=step.lane, start_s=free_s, duration_s=waited_s))
        free_s = step.start_s + step.duration_s
    return found
