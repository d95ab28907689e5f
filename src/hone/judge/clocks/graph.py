"""The launches of a batch as one CUDA graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from hone.judge.clocks.base import Attempt
from hone.judge.clocks.gated import GatedClock
from hone.records import Mode

if TYPE_CHECKING:
    from hone.judge.device.cuda.reference import DeviceReference
    from hone.judge.device.cuda.side import DeviceSubject


class GraphClock(GatedClock):
    """No host work, and no time for launches."""

    mode: ClassVar[Mode] = "graph"

    def attempts(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> Sequence[Attempt]:
        """Capture; launch with open gates, which brings the graph to the GPU; launch with closed ones."""
        return (
            lambda: side.capture(runs),
            lambda: side.run_open(reference, runs, self.mode),
            lambda: side.waits_quietly(reference, runs, self.mode),
        )
