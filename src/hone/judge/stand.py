"""What the procedure and the protocols may ask of a device: they know no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hone.judge.counts import Counts
from hone.records import Distribution, Mode, Performance, YardstickKind

SOLUTION = "solution"
"""Its name among the sides; baselines have their own."""


class OtherResultsError(Exception):
    """Wrong results of a side in a way of timing that is not PyTorch's ordinary one: says nothing about the side."""

    def __init__(self, name: str, mode: Mode, detail: str) -> None:
        self.name, self.mode, self.detail = name, mode, detail
        super().__init__(f"{name} in {mode}: {detail}")


@dataclass
class Trial:
    """One run of solution and reference on the same new inputs, compared."""

    counts: Counts = field(default_factory=Counts)
    guards_hold: bool = True
    """Nothing was written outside the outputs."""
    changed: Sequence[str] = ()
    """Inputs that the reference leaves alone and the solution wrote to."""
    wrong_by_tolerance: int | None = None
    """Elements outside the tolerance of the reference, whatever else makes them right; absent on a CPU."""
    yardstick: YardstickKind | None = None
    """Absent where precision was not asked for."""
    own_error: float | None = None
    """The reference's, against the yardstick."""
    error: float | None = None
    """The solution's."""


class Checked(Protocol):
    """A loaded solution beside its reference, at one choice of sizes."""

    @property
    def seed(self) -> int:
        """The workload's."""

    @property
    def place(self) -> str:
        """Which sizes these are, where they are held-out ones; else empty."""

    @property
    def precision_floor(self) -> float:
        """Relative error that any honest implementation may have."""

    def usable(self, distributions: Sequence[Distribution]) -> Sequence[Distribution]:
        """Those value distributions that the device can give its inputs."""

    def trial(self, seed: int, forward_seed: int, distribution: Distribution, *, exact: bool) -> Trial | None:
        """One trial; None, and nothing is judged, where the reference cannot take the distribution. Raises Verdict."""


class Timed(Protocol):
    """A loaded, correct solution beside its baselines."""

    def begin(self, baselines: Sequence[str]) -> None:
        """Forget what was measured, and find out how each side is timed."""

    def turn(self, *, kept: bool, audit: bool) -> None:
        """One sample of every side on new inputs; `kept` for the figures, else a warm-up; `audit`: results checked."""

    def audit_apart(self, *, every_kind: bool = False) -> None:
        """A check of its own that looks like a timed run, where the device has one; or one for each kind of values."""

    def enough(self, turns: int, taken_s: float) -> bool:
        """Whether samples suffice before the protocol's last turn."""

    def performance(self) -> Performance:
        """What the samples come to."""

    def bar(self, error: OtherResultsError) -> None:
        """Do without a way of timing in which the solution gives other results."""


Scalars = list[dict[str, Any]]
"""Forward's arguments that are plain numbers: one mapping for each set."""


class Process(Protocol):
    """The solution's process, or a baseline's."""

    @property
    def copies_outputs(self) -> bool:
        """Python returns tensors; launchers write in place."""

    def profile(self) -> str:
        """PyTorch's operator table of one forward; raises Verdict."""


class Reference(Protocol):
    """The trusted process."""

    def compile_baseline(self) -> str:
        """Why there is no `torch_compile`, else empty."""

    def profile(self) -> str:
        """PyTorch's operator table of one forward."""
