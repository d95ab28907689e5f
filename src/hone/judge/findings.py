"""What is known about a solution so far."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hone.records import AsPublished, ErrorFigures, Performance, Status


@dataclass
class Findings:
    """Filled in while a solution is judged; a verdict may end that at any point."""

    errors: ErrorFigures | None = None
    performance: Performance | None = None
    profile: str = ""
    status_as_published: Status | None = None
    """What KernelBench's rule says of the trials on values as given, whatever stricter ones say."""
    as_published: AsPublished | None = None
    only_held_out: bool = False
    """Trials have begun, but none at the workload's own sizes yet."""
    remark: str = ""
    """Something to know about a solution that passed."""
    confinement: tuple[str, ...] = ()
    phase_s: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the wall time of the block to a phase."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - started)

    def add(self, phase: str, seconds: float) -> None:
        """Add to what a phase has taken."""
        if seconds:
            self.phase_s[phase] = self.phase_s.get(phase, 0.0) + seconds

    def remark_also(self, text: str) -> None:
        """Add a line to the remark; nothing for an empty one."""
        self.remark = "\n".join(filter(None, (self.remark, text)))
