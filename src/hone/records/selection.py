"""Which kernels trainings take out of a campaign: what is executed, why, and how large each operator's share is."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from hone.records.base import Record, Versioned
from hone.records.problem import Definition, Workload
from hone.records.solution import Solution


class SelectedKernel(Record):
    """The fastest solution of one operator on one kind of machine."""

    where: str
    """Model name of the CPU or GPU on which it was judged."""
    solution: Solution
    artifact: str
    """Path of its shared object, relative to the store: named by what it was compiled from, with what."""
    target: str
    """CPU or GPU architecture that the object is for."""


class Selection(Versioned):
    """What trainings run for one operator: no time and no origin, so that an equal choice is equal to the byte."""

    operator: str
    """Title of the definition, as training loops call the operator."""
    runs_on: Literal["cpu", "cuda"]
    """Whose model name decides which of `kernels` a training takes."""
    definition: Definition | None = None
    """Absent where no kernel is selected."""
    workloads: tuple[Workload, ...] = ()
    """Small ones, on which a training compares the kernel with the reference before it uses it."""
    kernels: tuple[SelectedKernel, ...] = ()
    """One for each kind of machine on which a solution beat the builtin."""

    @model_validator(mode="after")
    def _definition_with_kernels(self) -> Self:
        if bool(self.kernels) != (self.definition is not None):
            raise ValueError("a selection has a definition exactly when it has kernels")
        return self


class SanitizerVerdict(Versioned):
    """What one tool of compute-sanitizer says of one kernel on its workloads."""

    definition: str
    solution: str
    where: str
    """Model name of the GPU."""
    tool: Literal["memcheck", "racecheck", "synccheck", "initcheck"]
    status: Literal["clean", "objects", "unknown"]
    """`objects`: the tool counts errors or hazards, and the kernel is not selected. `unknown`: the tool could not be
    run, or did not come to its end, which says nothing about the kernel."""
    findings: int | None = None
    """Errors or hazards by the tool's own count."""
    workloads: int = 0
    """How many ran to their end."""
    left_out: int = 0
    """How many are too large to be watched."""
    detail: str = ""
    """The first finding, or what went wrong."""
    version: str = ""
    """Of compute-sanitizer."""
    seconds: float = 0.0


class SelectionReason(Versioned):
    """Why an operator's selection is what it is on one kind of machine."""

    operator: str
    definition: str
    where: str
    """Model name of the CPU or GPU; empty where nothing was judged."""
    used: Literal["selected", "builtin"]
    reason: str
    """Why the builtin stays; empty where a solution was selected."""
    solution: str = ""
    """Id of the fastest solution that passed, selected or not."""
    baseline_us: float | None = None
    """Latency of the builtin, geometric mean over the workloads that a prompt may show."""
    selected_us: float | None = None
    """The same of `solution`, measured beside it."""
    workloads: int = 0
    """Workloads behind the two."""
    objections: tuple[str, ...] = Field((), exclude_if=lambda value: not value)
    """Solutions that compute-sanitizer objects to, with its first finding: they are not selected."""

    @property
    def speedup(self) -> float | None:
        """Of `solution` over the builtin."""
        return self.baseline_us / self.selected_us if self.baseline_us and self.selected_us else None


class KernelUse(Record):
    """What one training ran for one operator."""

    operator: str
    where: str
    """Model name of the CPU or GPU that ran it."""
    used: Literal["selected", "builtin", "fell_back"]
    """`builtin`: the selection says so, or has nothing for this machine; `fell_back`: the selected kernel could not be
    used here."""
    solution: str = ""
    """Id of the selected kernel; empty where there is none."""
    reason: str = ""
    """Why it is not used; empty where it is."""


class OperatorShare(Versioned):
    """How much of the preparation of a training's batches is one operator's work, on one thread."""

    operator: str
    training: str
    graph: str
    model: str
    where: str
    """Model name of the CPU."""
    operator_ms: float = Field(ge=0)
    """The builtin on all hops of a batch, called by itself: median over batches."""
    prepare_ms: float = Field(gt=0)
    """Sampling, relabelling and slicing of the same batches: median over batches."""
    batches: int

    @property
    def share(self) -> float:
        """Of preparation, 0 to 1."""
        return min(1.0, self.operator_ms / self.prepare_ms)
