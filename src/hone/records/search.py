"""What a search that asks no model has tried."""

from __future__ import annotations

from pydantic import Field

from hone.records.base import Versioned


class SearchStep(Versioned):
    """One choice of a kernel's own parameters, compiled and measured once."""

    experiment: str
    definition: str
    file: str
    """Name of the file that declares the parameters."""
    repeat: int
    """Searches of the same file differ in their seed."""
    seed: int
    values: dict[str, int]
    """Parameter -> its value."""
    solution: str
    """Id of the kernel with these values."""
    rung: int | None
    """0: the shortest timing; absent: the judge's own protocol."""
    speedup: float | None = None
    """Geometric mean over the workloads that a prompt may show; absent where the kernel is not right, or not run."""
    share: float | None = None
    """Of the least possible time in its own, by the same mean; absent where the judge knows no such bound."""
    problem: str = ""
    """Why there is no speedup."""
    evaluations: int = Field(ge=0)
    """Verdicts so far in this search, those of this step included."""
    seconds: float = Field(ge=0)
    """Compiling and judging so far, as they took when they were first done."""
