"""How many sets of inputs and outputs a timed batch runs over, and where each tensor of each set lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

from hone.judge.layout import Layout

MOST_SETS = 256
"""As many as there are gates in the shared memory, see `batches.Gate`."""
BATCH_MS = 3.0
"""What a batch should last: much longer than the judge's own clock is uncertain by."""
ASSUMED_BYTES_PER_MS = 4.0e9
LEAST_RUN_MS = 0.003
ARENA_BYTES = 16 << 30
"""What all sets may take together, unless two already take more."""
PAGE = 2 << 20
"""Device memory is shared in multiples of this."""


@dataclass(frozen=True)
class Region:
    """One piece of shared device memory: `count` copies of a layout, one after the other."""

    layout: Layout
    count: int

    @property
    def nbytes(self) -> int:
        """Size, a multiple of the page of device memory."""
        return -(-self.layout.nbytes * self.count // PAGE) * PAGE

    def message(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"layout": self.layout.message(), "count": self.count}

    @classmethod
    def read(cls, message: dict[str, Any]) -> Self:
        """The inverse of `message`."""
        return cls(Layout.read(message["layout"]), message["count"])


def set_count(set_bytes: int, compulsory_bytes: int, memory_bytes: int) -> int:
    """How many sets: enough for a batch of `BATCH_MS`, at least two if they fit in `memory_bytes`."""
    run_ms = max(compulsory_bytes / ASSUMED_BYTES_PER_MS, LEAST_RUN_MS)
    wanted = math.ceil(BATCH_MS / run_ms)
    fitting = max(ARENA_BYTES // max(set_bytes, 1), 2)
    affordable = max(memory_bytes // max(set_bytes, 1), 1)
    return max(1, min(max(wanted, 2), fitting, affordable, MOST_SETS))
