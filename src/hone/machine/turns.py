"""Judges that share a GPU take turns: several work on it at a time, or one of them measures and all others wait."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """One judge's part in it. Locks belong to open files, so the kernel gives back those of a judge that dies."""

    def __init__(self, queue: int | None = None, floor: int | None = None) -> None:
        """`queue`, `floor`: open files that all judges of the GPU lock, closed by `close`; none: there is no other."""
        self._files = (queue, floor) if queue is not None and floor is not None else None
        self._held = ""
        self.waited_s = 0.0
        """Seconds spent waiting for a turn so far."""

    @property
    def shared(self) -> bool:
        """Whether others may be at work on the same GPU now."""
        return self._files is not None and self._held != "measuring"

    @contextmanager
    def working(self) -> Iterator[None]:
        """The block uses the GPU while nobody measures on it."""
        if self._held:
            yield  # a measuring judge works, too
            return
        with self._turn("working", fcntl.LOCK_SH):
            yield

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """The block has the GPU to itself, but for what other judges hold in its memory."""
        if self._held == "measuring":
            yield
            return
        assert not self._held, "two judges that both wait for the other's work to end would wait for ever"
        with self._turn("measuring", fcntl.LOCK_EX):
            yield

    @contextmanager
    def _turn(self, kind: str, lock: int) -> Iterator[None]:
        self._take(lock)
        self._held = kind
        try:
            yield
        finally:
            self._held = ""
            if self._files is not None:
                fcntl.flock(self._files[1], fcntl.LOCK_UN)

    def _take(self, lock: int) -> None:
        """Whoever comes later stands behind in the queue, so that many who work never keep one from measuring."""
        if self._files is None:
            return
        queue, floor = self._files
        started = time.perf_counter()
        fcntl.flock(queue, fcntl.LOCK_EX)
        try:
            fcntl.flock(floor, lock)
        finally:
            fcntl.flock(queue, fcntl.LOCK_UN)
        self.waited_s += time.perf_counter() - started

    def close(self) -> None:
        """Give the files back."""
        files, self._files = self._files, None
        for file in files or ():
            os.close(file)
