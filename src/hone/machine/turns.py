"""Judges that share a GPU take turns: several work on it at a time, or one of them measures and all others wait."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Crowd:
    """A lock that many hold together, or one alone. Whoever comes later stands behind, so that nobody waits for ever.

    Locks belong to open files, so the kernel gives back those of a judge that dies.
    """

    def __init__(self, queue: int, floor: int) -> None:
        """Open files that all judges of the GPU lock; closed by `close`."""
        self._queue, self._floor = queue, floor

    def enter(self, *, alone: bool) -> float:
        """Seconds that were spent waiting."""
        started = time.perf_counter()
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._floor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        return time.perf_counter() - started

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for it, or comes just now."""
        try:
            fcntl.flock(self._queue, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._queue, fcntl.LOCK_UN)
        return False

    def leave(self) -> None:
        """Let others in."""
        fcntl.flock(self._floor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the files back."""
        os.close(self._queue)
        os.close(self._floor)


class Turns:
    """One judge's part in it.

    Processes open the GPU beside a judge that measures, but not while it takes times: that disturbs them.
    Who waits for memory holds no turn, or the others could not end theirs and give memory back.
    """

    def __init__(self, gpu: Crowd | None = None, opening: Crowd | None = None, memory: Crowd | None = None) -> None:
        """`gpu`: who works and who measures; `opening`: who opens the GPU and who takes times; none: no other judge.

        `memory`: who keeps anything in the GPU's memory from one solution to the next, and who needs it all.
        """
        self._gpu, self._opening, self._memory = gpu, opening, memory
        self._held = ""
        self._quiet = False
        self._keeps = ""
        self.waited_s = 0.0
        """Seconds spent waiting for a turn so far."""

    @property
    def shared(self) -> bool:
        """Whether others may be at work on the same GPU now."""
        return self._gpu is not None and self._held != "measuring"

    @contextmanager
    def working(self) -> Iterator[None]:
        """The block uses the GPU while nobody measures on it."""
        if self._held:
            yield  # a measuring judge works, too
            return
        with self._turn("working"):
            yield

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """The block has the GPU to itself, but for what others hold in its memory, and for processes that open it."""
        if self._held == "measuring":
            yield
            return
        assert not self._held, "two judges that both wait for the other's work to end would wait for ever"
        with self._turn("measuring"):
            yield

    @contextmanager
    def opening(self) -> Iterator[None]:
        """The block opens the GPU in a process, while others may measure there."""
        if self._held:  # nobody else takes times now
            yield
            return
        with self._entered(self._opening, alone=False):
            yield

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """The block takes times, while no process opens the GPU; the judge measures already."""
        if self._quiet:
            yield
            return
        assert self._held == "measuring" or self._gpu is None, "who waits for quiet has the GPU to itself"
        with self._entered(self._opening, alone=True):
            self._quiet = True
            try:
                yield
            finally:
                self._quiet = False

    @property
    def memory_wanted(self) -> bool:
        """Whether another judge waits for what this one keeps in the GPU's memory."""
        return self._keeps == "some" and self._memory is not None and self._memory.wanted

    def keep_memory(self) -> None:
        """From here on there may be something of this judge in the GPU's memory; waits for who needs it all."""
        if self._keeps or self._memory is None:
            return
        assert not self._held, "who needs all memory waits for this turn to end"
        self.waited_s += self._memory.enter(alone=False)
        self._keeps = "some"

    def give_memory_back(self) -> None:
        """There is nothing of this judge in the GPU's memory now."""
        if self._keeps == "some" and self._memory is not None:
            self._memory.leave()
            self._keeps = ""

    @contextmanager
    def all_memory(self) -> Iterator[None]:
        """No other judge keeps anything in the GPU's memory during the block; nor does this one before it."""
        assert not self._held and not self._keeps, "who keeps memory, or a turn, would wait for itself"
        with self._entered(self._memory, alone=True):
            self._keeps = "all"
            try:
                yield
            finally:
                self._keeps = ""

    @contextmanager
    def _turn(self, kind: str) -> Iterator[None]:
        with self._entered(self._gpu, alone=kind == "measuring"):
            self._held = kind
            try:
                yield
            finally:
                self._held = ""

    @contextmanager
    def _entered(self, crowd: Crowd | None, *, alone: bool) -> Iterator[None]:
        if crowd is None:
            yield
            return
        self.waited_s += crowd.enter(alone=alone)
        try:
            yield
        finally:
            if crowd in (self._gpu, self._opening, self._memory):  # not closed meanwhile
                crowd.leave()

    def close(self) -> None:
        """Give the files back."""
        for crowd in (self._gpu, self._opening, self._memory):
            if crowd is not None:
                crowd.close()
        self._gpu = self._opening = self._memory = None
        self._keeps = ""
