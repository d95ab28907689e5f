"""What must be computed: definitions, and the workloads that they are judged on."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import computed_field

from hone.records.base import Record, Versioned, digest


class Language(StrEnum):
    """What a solution is written in."""

    PYTHON = "python"
    """A module with a class `ModelNew`, as KernelBench asks for; may build CUDA through `load_inline`."""
    CPP = "cpp"
    """C++17 with OpenMP and the definition's launcher."""
    CUDA = "cuda"
    """A plain .cu with the definition's launcher."""
    TRITON = "triton"
    """A Python module with `ModelNew` whose kernels are Triton's."""


class Argument(Record):
    """One input, parameter or output of a definition."""

    name: str
    """A C identifier, unique within the definition."""
    kind: Literal["tensor", "scalar"] = "tensor"
    """Scalars are passed by value and have an empty shape."""
    shape: tuple[str, ...] = ()
    """Names of axes, outermost first."""
    dtype: str
    """PyTorch's name without the prefix, such as `float32` or `int64`."""


class SoundnessFlag(Record):
    """A known defect of a problem that lets a kernel pass without doing the work."""

    flag: Literal["constant_output", "input_independent", "redundant_work", "loose_range", "random_reference"]
    detail: str
    source: str
    """Who found it and where that is written."""


class Upstream(Record):
    """Where a definition's reference code comes from."""

    repository: str
    commit: str
    """40 hexadecimal digits, or `local` for our own problems."""
    path: str
    sha256: str
    """Digest of the file's bytes."""


class Definition(Versioned):
    """What must be computed, and what a solution is measured against."""

    name: str
    """`<source>/level<level>/<number>_<title>`, unique."""
    source: str
    level: int
    number: int
    title: str
    axes: dict[str, int]
    """Named axes with the problem's own sizes."""
    inputs: tuple[Argument, ...]
    """Arguments of `Model.forward`, in order."""
    parameters: tuple[Argument, ...]
    """Floating-point parameters and buffers of `Model`, in `state_dict` order, dots replaced by underscores."""
    outputs: tuple[Argument, ...]
    reference: str
    """Python source with `Model`, `get_inputs` and `get_init_inputs`."""
    held_out: tuple[dict[str, int], ...] = ()
    """Further sizes of some axes, unknown to whoever writes a solution, that a solution must compute rightly too."""
    baselines: tuple[str, ...] = ("torch_eager",)
    """What speedup is measured against."""
    languages: tuple[Language, ...] = tuple(Language)
    """The languages a solution may use."""
    requires: tuple[str, ...] = ()
    """Importable packages that the reference needs beside torch."""
    compulsory_bytes: int
    """Inputs, parameters and outputs once each: the least that any implementation moves."""
    flops: int
    """Floating-point operations of matrix products and convolutions in the reference."""
    soundness: tuple[SoundnessFlag, ...] = ()
    upstream: Upstream

    @property
    def sound(self) -> bool:
        """Whether no defect of the problem is known."""
        return not self.soundness

    def shape_of(self, argument: Argument) -> tuple[int, ...]:
        """Sizes of the argument's axes."""
        return tuple(self.axes[axis] for axis in argument.shape)


class UnsupportedProblem(Versioned):
    """A problem of the source that did not become a definition, and what it would need."""

    name: str
    reason: str
    requires: tuple[str, ...] = ()


class Tolerance(Record):
    """An element is right when |got - expected| <= atol + rtol * |expected|."""

    atol: float
    rtol: float


class Workload(Versioned):
    """One set of sizes, data type, seeds and value distribution for a definition, with its tolerance."""

    definition: str
    name: str
    """Unique within the definition."""
    axes: dict[str, int]
    dtype: str = "float32"
    """Floating-point inputs and parameters are cast to this type."""
    seed: int = 42
    """Seed of parameters; inputs of trial i use a seed drawn from it."""
    distribution: Literal["as_given"] = "as_given"
    """`as_given`: the values of `get_inputs`."""
    tolerance: Tolerance

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """Digest of everything above."""
        return digest(self.model_dump(mode="json", exclude={"id"}))
