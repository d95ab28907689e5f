"""How many sets of inputs and outputs a timed batch runs over, and where each tensor of each set lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

from hone.records import Mode
from hone.records.layout import Layout

MOST_SETS = 256
"""As many as there are gates in the shared memory, see `batches.Gate`."""
BATCH_MS = 3.0
"""What a batch should last: much longer than the judge's own clock is uncertain by."""
TIMED_MS = 4.0
"""What a batch of a baseline's should last, as far as there are sets."""
LEAST_CHECKED_MS, MOST_BASELINE_MS = 1.0, 20.0
"""What a batch of a faster solution should last, or the judge's clock could not check what it claims; as long as one of
the baseline's then lasts no longer than this."""
ASSUMED_BYTES_PER_MS = 4.0e9
LEAST_RUN_MS = 0.003
ARENA_BYTES = 16 << 30
"""What all sets may take together, unless two already take more."""
PAGE = 2 << 20
"""Device memory is shared in multiples of this."""


@dataclass(frozen=True)
class BatchShape:
    """How a side's batches are timed, and how many runs each has."""

    mode: Mode
    runs: int

    @property
    def gated(self) -> bool:
        """Whether its launches wait for their inputs, so that none of its host's work is in its time."""
        return self.mode in ("graph", "queued")


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


def run_count(sets: int, baseline_ms: float, solution_ms: float = math.inf) -> int:
    """How many runs a timed batch should have, by what a run of the slowest baseline and of the solution takes.

    What the solution says of itself can make it longer, never shorter.
    """
    baseline_ms = max(baseline_ms, 1e-3)
    faster = min(math.ceil(LEAST_CHECKED_MS / max(solution_ms, 1e-3)), int(MOST_BASELINE_MS / baseline_ms))
    return min(sets, max(math.ceil(TIMED_MS / baseline_ms), faster))


def set_count(set_bytes: int, compulsory_bytes: int, memory_bytes: int) -> int:
    """How many sets: enough for a batch of `BATCH_MS`, at least two if they fit in `memory_bytes`."""
    run_ms = max(compulsory_bytes / ASSUMED_BYTES_PER_MS, LEAST_RUN_MS)
    wanted = math.ceil(BATCH_MS / run_ms)
    fitting = max(ARENA_BYTES // max(set_bytes, 1), 2)
    affordable = max(memory_bytes // max(set_bytes, 1), 1)
    return max(1, min(max(wanted, 2), fitting, affordable, MOST_SETS))
