"""Launches one by one, on inputs that are shown before: what nothing else can time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from hone.judge.clocks.base import Attempt, DeviceClock
from hone.judge.clocks.observation import Observation
from hone.records import Mode

if TYPE_CHECKING:
    from hone.judge.device.cuda.reference import DeviceReference
    from hone.judge.device.cuda.side import DeviceSubject


class StreamClock(DeviceClock):
    """All host work is in the time. A wrong value here is the solution's."""

    mode: ClassVar[Mode] = "stream"

    def attempts(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> Sequence[Attempt]:
        """Nothing: the correctness trials ran like this."""
        return ()

    def launch(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> str:
        """Nothing waits."""
        return ""

    def run(
        self, side: DeviceSubject, reference: DeviceReference, runs: int, show: Callable[[], float]
    ) -> Observation:  # fmt: skip
        """Show the inputs, then ask for the runs."""
        early_ms = show()
        return replace(side.run(runs, reference, self.mode), early_ms=early_ms)
