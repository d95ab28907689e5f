"""Where an epoch on the device goes: moments on the streams where they pass, and what lies between them.

Timers are CUDA events. Those of a step are nodes of its CUDA graph, which every launch records again, so the graphs of
timed epochs have none (`docs/decisions.md`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import torch

from hone.records.gnn import EpochParts, ProcessParts

if TYPE_CHECKING:
    from torch import Tensor

Moment = Literal["begun", "loss_ready", "loss_summed", "computed", "joined", "summed", "stepped"]
"""Of a step, on its own stream but for the two of the loss, which is summed over the processes aside. `computed`: the
step comes to what was done aside; `joined`: that is done; `summed`: gradients are summed over the processes, too."""
MOMENTS: tuple[Moment, ...] = get_args(Moment)


class Timer(Protocol):
    """Can be recorded again and again; the last time counts."""

    def record(self) -> None:
        """Now, on the current stream; can be captured."""

    def since(self, zero: Timer) -> float:
        """Seconds from another one's moment, when both have passed."""
        ...


class HostTimer:
    """Where kernels run at once, as in tests on a CPU."""

    at_s = 0.0

    def record(self) -> None:
        """As Timer."""
        self.at_s = time.perf_counter()

    def since(self, zero: Timer) -> float:
        """As Timer."""
        assert isinstance(zero, HostTimer)
        return self.at_s - zero.at_s


class DeviceTimer:
    """A CUDA event, which becomes a node of a graph that it is captured in."""

    def __init__(self) -> None:
        self._event = torch.cuda.Event(enable_timing=True, external=True)  # type: ignore[no-untyped-call]

    def record(self) -> None:
        """As Timer."""
        self._event.record()

    def since(self, zero: Timer) -> float:
        """As Timer."""
        assert isinstance(zero, DeviceTimer)
        elapsed_ms: float = zero._event.elapsed_time(self._event)
        return elapsed_ms / 1e3


class Unwatched:
    """Nobody looks on: what `DeviceLoop` tells of an epoch is lost, and costs its streams nothing."""

    def begin(self) -> None:
        """An epoch begins on the current stream."""

    def sampling(self) -> AbstractContextManager[None]:
        """Around a group's sampling, on the current stream."""
        return nullcontext()

    def at(self, group: int, place: int) -> None:
        """What is told next is of the step on this room of a group."""

    def mark(self, moment: Moment) -> None:
        """Of the step, on the current stream; can be captured."""

    def take(self, group: int, count: int, trained: torch.cuda.Event | None = None) -> None:
        """A group's steps are over when `trained` has passed, and its rooms are to be used again."""


class EpochWatch(Unwatched):
    """Keeps the last epoch that began; graphs that are captured while it looks on have its timers."""

    def __init__(self, device: torch.device, groups: int, size: int) -> None:
        """For so many groups with so many rooms each."""
        self._timer: Callable[[], Timer] = DeviceTimer if device.type == "cuda" else HostTimer
        self._zero = self._timer()
        self._rooms = [[[self._timer() for _ in MOMENTS] for _ in range(size)] for _ in range(groups)]
        self._now = self._rooms[0][0]
        self._steps: list[list[float]] = []
        self._sampling: list[tuple[Timer, Timer]] = []

    def begin(self) -> None:
        """As Unwatched."""
        self._steps, self._sampling = [], []
        self._zero.record()

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """As Unwatched."""
        begin, end = self._timer(), self._timer()
        begin.record()
        yield
        end.record()
        self._sampling.append((begin, end))

    def at(self, group: int, place: int) -> None:
        """As Unwatched."""
        self._now = self._rooms[group][place]

    def mark(self, moment: Moment) -> None:
        """As Unwatched."""
        self._now[MOMENTS.index(moment)].record()

    def take(self, group: int, count: int, trained: torch.cuda.Event | None = None) -> None:
        """As Unwatched."""
        if trained is not None:
            trained.synchronize()
        self._steps += [[timer.since(self._zero) for timer in room] for room in self._rooms[group][:count]]

    @property
    def steps(self) -> Tensor:
        """(batches, moments) float64: seconds since the epoch began."""
        return torch.tensor(self._steps, dtype=torch.float64).view(-1, len(MOMENTS))

    @property
    def sample_s(self) -> float:
        """Seconds of sampling in the epoch, and of fetching the features of each group's first batch."""
        return sum(end.since(begin) for begin, end in self._sampling)


def process_parts(steps: Tensor, sample_s: Tensor) -> tuple[ProcessParts, ...]:
    """The parts of an epoch on each rank: steps (world, batches, moments) and sample_s (world,) float64, in seconds.

    Who comes last to a sum waits for nobody: of each sum the shortest time over the ranks is the sum itself, and the
    rest of a rank's time is waiting. The loss is summed aside. Only as much of that counts as the step's own stream
    waits for what is aside.
    """
    begun, loss_ready, loss_summed, computed, joined, summed, stepped = steps.unbind(-1)
    before = torch.cat([torch.zeros_like(stepped[:, :1]), stepped[:, :-1]], dim=1)
    several = len(steps) > 1
    loss, gradients = (loss_summed - loss_ready) * several, (summed - joined) * several
    stopped = joined - computed
    late = torch.minimum(_late(loss), stopped)
    waiting = late + _late(gradients)
    summing = torch.minimum(loss, stopped) - late + gradients - _late(gradients)
    step = stepped - begun - waiting - summing
    totals = torch.stack([step, summing, waiting, begun - before]).sum(dim=2)  # (parts, world)
    return tuple(
        ProcessParts(sample_s=sampled, step_s=step, all_reduce_s=summing, wait_ranks_s=waiting, wait_batch_s=idle)
        for sampled, (step, summing, waiting, idle) in zip(sample_s.tolist(), totals.T.tolist(), strict=True)
    )


def description(parts: EpochParts, timed_s: float) -> str:
    """One line for the log; `timed_s`: the same epoch without timers."""
    us = 1e6 / max(1, parts.batches)
    told = [
        f"{name.removesuffix('_s').replace('_', ' ')} {us * min(values):.1f} to {us * max(values):.1f}"
        for name in ProcessParts.model_fields
        for values in [[getattr(process, name) for process in parts.processes]]
    ]
    return (
        f"parts of epoch {parts.epoch}, once more with timers ({parts.epoch_s:.4g} s, without {timed_s:.4g} s), "
        f"in microseconds a batch, least to most of {len(parts.processes)} processes: {', '.join(told)}"
    )


def _late(durations: Tensor) -> Tensor:
    """(world, batches): what each rank's is longer by than the shortest of the batch."""
    return durations - durations.amin(dim=0)
