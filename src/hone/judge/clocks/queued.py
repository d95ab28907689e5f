"""The launches of a batch piled up on the default stream, behind closed gates: nothing is captured.

That is PyTorch's ordinary environment: launches on the default stream, streams and graphs of a solution's own, library
handles of its own all work. A launch takes 0.7 to 0.9 us more than in a graph (H200).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from hone.judge.clocks.base import Attempt
from hone.judge.clocks.gated import GatedClock
from hone.records import Mode

if TYPE_CHECKING:
    from hone.judge.device.cuda.reference import DeviceReference
    from hone.judge.device.cuda.side import DeviceSubject

LAUNCHING_S = 5e-3
"""What the host may take for the launches of a batch. PyTorch takes 6 us or more for each; from about 1,000 launches on
the host waits for the GPU (H200)."""


class QueuedClock(GatedClock):
    """No host work; the GPU takes up launch by launch."""

    mode: ClassVar[Mode] = "queued"

    def attempts(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> Sequence[Attempt]:
        """Launch with open gates, so that PyTorch has the memory for all results; then with closed ones."""
        return (
            lambda: side.run_open(reference, runs, self.mode),
            lambda: side.waits_quietly(reference, runs, self.mode),
        )


def queued_runs(wanted: int, launching_s: float) -> int:
    """How many of the wanted runs fit behind a gate, by what the host takes to launch one."""
    return max(1, min(wanted, int(LAUNCHING_S / max(launching_s, 1e-7))))
