"""Baselines in processes of their own, like a solution's: existing kernels, on a GPU also modules that are no chain.

A solution is timed in a process without PyTorch, on a stream, a context and page tables of its own. Where runs take a
few microseconds a baseline in another kind of process would be timed by another yardstick; so an existing kernel gets
the process, the launcher, the memory and the batches of a solution. Its code is trusted: its times are taken as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from hone.core.errors import on_failure
from hone.judge.verdict import Verdict
from hone.records import Status


class _Process(Protocol):
    def close(self) -> None: ...


class _Reference(Protocol):
    @property
    def alive(self) -> bool: ...


P = TypeVar("P", bound=_Process)


class BaselineFailedError(Exception):
    """An existing kernel failed while times were taken: says nothing about the solution."""

    def __init__(self, name: str, detail: str) -> None:
        self.name, self.detail = name, detail
        super().__init__(f"{name}: {detail}")


class BesideError(Verdict):
    """The reference itself failed beside a solution, in a process of its own: the solution's doing.

    It would else get rid of the baseline that it is measured against. What the machine does stays the machine's.
    """

    def __init__(self, name: str, verdict: Verdict) -> None:
        status = Status.RUNTIME_ERROR if verdict.status.resolved else verdict.status
        super().__init__(status, f"beside it the baseline {name} failed: {verdict.detail}")


class KernelBaselines(Generic[P]):
    """The existing kernels beside one reference that are right; why others are not there."""

    def __init__(self, names: Iterable[str], start: Callable[[str], P], reference: _Reference) -> None:
        """`start` gives the process of a kernel that was found right; where it raises Verdict there is no baseline.

        The Verdict is raised only when the reference has died of it, so that nothing can be judged.
        """
        self.ready: dict[str, P] = {}
        self.problems: dict[str, str] = {}
        """Name -> a sentence for the traces."""
        with on_failure(self.close):
            for name in names:
                self._start(name, start, reference)

    def _start(self, name: str, start: Callable[[str], P], reference: _Reference) -> None:
        try:
            self.ready[name] = start(name)
        except Verdict as verdict:
            if not reference.alive:
                raise
            self.problems[name] = f"the baseline {name} is of no use, {verdict.status}: {verdict.detail}"

    def drop(self, error: BaselineFailedError) -> None:
        """Do without a kernel from now on."""
        self.ready.pop(error.name).close()
        self.problems[error.name] = f"the baseline {error.name} failed when it was timed: {error.detail}"

    def close(self) -> None:
        """End the processes."""
        for process in self.ready.values():
            process.close()
        self.ready = {}


@contextmanager
def blamed_on(name: str, reference: _Reference, *, own: bool = False) -> Iterator[None]:
    """A Verdict raised inside becomes the baseline's failure, unless it is the reference that died.

    `own`: the baseline is the reference's own code, whose failure is the solution's doing.
    """
    try:
        yield
    except Verdict as verdict:
        if not reference.alive:
            raise
        if own:
            raise BesideError(name, verdict) from None
        raise BaselineFailedError(name, verdict.detail) from None
