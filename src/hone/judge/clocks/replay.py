"""One run as a CUDA graph, launched on inputs that are shown before: for graphs that do not wait quietly at a gate."""

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


class ReplayClock(DeviceClock):
    """One launch of the host's is in the time. Always one run: a launch could do the work of several."""

    mode: ClassVar[Mode] = "replay"

    def attempts(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> Sequence[Attempt]:
        """Capture; launch with open gates."""
        return (
            lambda: side.capture(runs),
            lambda: side.run_open(reference, runs, "graph"),
        )

    def launch(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> str:
        """Open the gate of what is launched when its inputs are there."""
        side.open_gates(reference, runs)
        return ""

    def run(
        self, side: DeviceSubject, reference: DeviceReference, runs: int, show: Callable[[], float]
    ) -> Observation:  # fmt: skip
        """Show the inputs, then ask for the launch."""
        early_ms = show()
        return replace(side.run(runs, reference, self.mode), early_ms=early_ms)
