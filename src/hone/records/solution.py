"""Kernels: where they came from, what is executed, what the compiler made of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, computed_field, model_validator

from hone.records.base import Record, Versioned, digest
from hone.records.problem import Language


class Solution(Versioned):
    """A kernel: exactly what is executed, and nothing about where it came from."""

    definition: str
    language: Language
    entry_point: str
    """`ModelNew` for Python and Triton, the launcher's name for C++ and CUDA."""
    source: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """Digest of definition, language, entry point and source."""
        return digest([self.definition, self.language.value, self.entry_point, self.source])


class Candidate(Versioned):
    """The solution that came out of one answer, or why none did: a solution's origin.

    It stands in a file of its own, so that a prompt edit which gives the same kernels leaves the kernels' file
    unchanged to the byte.
    """

    experiment: str
    method: str
    model: str
    definition: str
    turn: int
    sample: int
    prompt_digest: str
    completion_key: str
    solution: str | None
    """Id of the solution, absent when the answer had no usable code."""
    problem: str = ""
    """Why there is no solution: `no code block`, `answer is not UTF-8 text`, …"""
    unanswered: bool = Field(False, exclude_if=lambda value: not value)
    """There was no answer: the server refused the prompt."""
    label: str = ""
    """Name of the file that the solution was read from; empty where a model wrote it."""

    @model_validator(mode="after")
    def _solution_or_problem(self) -> Self:
        if (self.solution is None) == (not self.problem):
            raise ValueError("a candidate has either a solution or a problem")
        return self


class BuildStatus(StrEnum):
    """What became of a solution at the compiler."""

    BUILT = "built"
    INTERPRETED = "interpreted"
    """Python: nothing to compile ahead of time; the source was checked to parse."""
    REJECTED = "rejected"
    """The compiler, or Python's parser, refused the source."""
    TIMEOUT = "timeout"
    NO_COMPILER = "no_compiler"
    """The machine has no such compiler: says nothing about the solution."""


class KernelResources(Record):
    """What one kernel of a .cu takes of a GPU's multiprocessor, by the compiler's account."""

    kernel: str
    """Its name with template arguments, such as `silu<float, 4>`."""
    registers: int
    """Of each thread."""
    shared_bytes: int
    """Static shared memory of a block; what a launch asks for comes on top."""
    spill_store_bytes: int
    """Written to local memory by each thread for want of registers."""
    spill_load_bytes: int


class Build(Versioned):
    """One solution compiled with one toolchain."""

    solution: str
    status: BuildStatus
    artifact: str | None = None
    """Path of the shared object, relative to the store."""
    extensions: dict[str, str] = Field(default_factory=dict)
    """Python only: digest of a `load_inline` call -> path of its shared object, relative to the store."""
    refused: dict[str, str] = Field(default_factory=dict)
    """Python only: digest of a `load_inline` call that could not be built -> what the compiler said. The call raises
    that where the module makes it, as PyTorch would."""
    log: str = ""
    """What the compiler said, cut to its first 20,000 characters."""
    command: tuple[str, ...] = ()
    toolchain: str = ""
    """First line of the compiler's `--version`."""
    target: str = ""
    """CPU or GPU architecture that the object is for; empty for interpreted languages."""
    seconds: float = 0.0
    resources: tuple[KernelResources, ...] = ()
    """CUDA only: what each kernel needs, sorted by name."""

    @model_validator(mode="after")
    def _artifact_when_built(self) -> Self:
        if (self.status is BuildStatus.BUILT) != (self.artifact is not None):
            raise ValueError("an artifact exists exactly when the build succeeded")
        return self


class ModuleCalls(Versioned):
    """What a Python module asked compilers for, when it was run without a GPU and came to its end."""

    calls: tuple[dict[str, Any], ...] = Field(min_length=1)
    """Arguments of its `load_inline` calls, different ones, in order."""
    seconds: float
    """What the run took, without waiting for a core."""
