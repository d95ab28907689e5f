"""The record of a kernel that was chosen to become an operator."""

from __future__ import annotations

from typing import Literal

from hone.records import Build, Solution
from hone.records.base import Versioned

KernelSet = Literal["upstream", "current", "winner"]
KERNEL_SETS: tuple[KernelSet, ...] = ("upstream", "current", "winner")


class KernelChoice(Versioned):
    """A kernel that takes part in post-processing, with all that is needed to load it."""

    kernel_set: KernelSet
    """`upstream` and `current`: existing kernels; `winner`: the best of the solutions."""
    solution: Solution
    build: Build
    speedup: float | None = None
    """Of a winner over upstream: geometric mean over the workloads that a prompt may show."""
