"""What `graph` and `queued` share: launches that wait at gates in shared memory until the judge opens them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hone.judge.clocks.base import DeviceClock
from hone.judge.clocks.observation import Observation

if TYPE_CHECKING:
    from hone.judge.device.cuda.reference import DeviceReference
    from hone.judge.device.cuda.side import DeviceSubject


class GatedClock(DeviceClock):
    """None of the side's host code runs between seeing the inputs and the end."""

    def launch(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> str:
        """Put the batch behind closed gates."""
        return side.arm(reference, runs, self.mode)

    def run(
        self, side: DeviceSubject, reference: DeviceReference, runs: int, show: Callable[[], float]
    ) -> Observation:  # fmt: skip
        """Show the inputs, then open the gates."""
        return side.run_armed(reference, runs)

    def claim(self, side: DeviceSubject, seen: Observation) -> Observation:
        """Asked for after the results have been looked at, where they lie in shared memory."""
        claimed_ms, collect_ms = side.collect()
        return replace(seen, claimed_ms=claimed_ms, collect_ms=collect_ms if side.copies_outputs else 0.0)
