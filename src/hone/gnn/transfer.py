"""How batches get to the device: the stage "copy", one batch after the other or ahead of the training loop."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import torch

if TYPE_CHECKING:
    from hone.gnn.batch import Batch
    from hone.gnn.observer import Observer

AHEAD = 1
"""Batches on the device that wait for the training loop."""


class Transfer(Protocol):
    """Brings batches to the device; hands their memory back when nobody reads it any more."""

    def __call__(self, batches: Iterator[Batch], observer: Observer) -> Iterator[Batch]:
        """The same batches in the same order, on the device."""


class DirectTransfer:
    """The training loop copies a batch when it needs it, and waits for the copy."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __call__(self, batches: Iterator[Batch], observer: Observer) -> Iterator[Batch]:
        """As Transfer."""
        for batch in batches:
            with observer.on_device("transfer", batch.index, "copy"):
                moved = batch.to(self.device)
            try:
                yield moved
            finally:
                batch.release()


class PipelinedTransfer:
    """A thread copies the next batch on a stream of its own while the device works on this one.

    The thread waits for each copy before it hands the batch on, so that the pinned memory is free at once and the
    training stream need not wait for an event. On a CPU there is nothing to copy and batches are only fetched ahead.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def __call__(self, batches: Iterator[Batch], observer: Observer) -> Iterator[Batch]:
        """As Transfer; an exception of the thread is raised where the batch would have come."""
        ready: queue.Queue[Batch | Exception | None] = queue.Queue(AHEAD)
        stopped = threading.Event()
        arguments = (batches, observer, ready, stopped)
        thread = threading.Thread(target=self._fetch, args=arguments, name="hone-transfer", daemon=True)
        thread.start()
        try:
            while (batch := ready.get()) is not None:
                if isinstance(batch, Exception):
                    raise batch
                if self.stream is not None:
                    # Its memory belongs to the copying stream: it must not be reused there before this one is done.
                    batch.record_stream(torch.cuda.current_stream(self.device))
                try:
                    yield batch
                finally:
                    batch.release()
        finally:
            stopped.set()
            _drain(ready, thread)

    def _fetch(
        self,
        batches: Iterator[Batch],
        observer: Observer,
        ready: queue.Queue[Batch | Exception | None],
        stopped: threading.Event,
    ) -> None:
        try:
            for batch in batches:
                if stopped.is_set():
                    batch.release()
                    break
                ready.put(self._moved(batch, observer))
            ready.put(None)
        except Exception as error:  # noqa: BLE001  (it is raised again in the thread that waits for the batch)
            ready.put(error)

    def _moved(self, batch: Batch, observer: Observer) -> Batch:
        if self.stream is None:
            return batch
        with torch.cuda.stream(self.stream):
            with observer.on_device("transfer", batch.index, "copy"):
                moved = batch.to(self.device, non_blocking=True)
            done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
            done.record(self.stream)
        done.synchronize()
        if moved is not batch:
            batch.release()
        return moved


def _drain(ready: queue.Queue[Batch | Exception | None], thread: threading.Thread) -> None:
    """Let a thread that is about to put something get to its end, and give back what nobody will use."""
    while thread.is_alive():
        try:
            left = ready.get(timeout=0.05)
        except queue.Empty:
            continue
        if left is not None and not isinstance(left, Exception):
            left.release()
    thread.join()
