"""What must be computed: definitions, and the workloads that they are judged on."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self, get_args

from pydantic import Field, computed_field, model_validator

from hone.records.base import Record, Versioned, digest

FLOATING_DTYPES = ("float64", "float32", "float16", "bfloat16")
TimedAlone = Literal[
    "torch_compile_reduce_overhead", "torch_compile_max_autotune", "torch_compile_max_autotune_no_cudagraphs",
    "torch_cudagraphs",
]  # fmt: skip
TorchBaseline = Literal["torch_eager", "torch_compile", TimedAlone]
COMPILE_OPTIONS: dict[str, dict[str, str]] = {
    "torch_compile": {},
    "torch_compile_reduce_overhead": {"mode": "reduce-overhead"},
    "torch_compile_max_autotune": {"mode": "max-autotune"},
    "torch_compile_max_autotune_no_cudagraphs": {"mode": "max-autotune-no-cudagraphs"},
    "torch_cudagraphs": {"backend": "cudagraphs"},
}
"""What `torch.compile` is given: the five configurations of KernelBench's Table 4."""
TIMED_ALONE: tuple[str, ...] = get_args(TimedAlone)
"""Baselines that are timed once for a workload and GPU, in a process of their own, and not in turns with a solution.

Most replay CUDA graphs of their own, so that they cannot be captured; compiling them takes minutes."""
TORCH_BASELINES: tuple[str, ...] = get_args(TorchBaseline)
"""What every definition can be measured against; other baselines are names of its existing kernels."""


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
    fixed_dtype: bool = False
    """This floating-point tensor keeps its type whatever the workload's type is, such as a log-sum-exp in float32."""
    in_place: bool = False
    """Inputs only: the function writes to it, and what it wrote is compared like an output."""

    def dtype_at(self, dtype: str) -> str:
        """Its data type in a workload of type `dtype`, which floating-point tensors take on unless theirs is fixed."""
        follows = self.kind == "tensor" and self.dtype in FLOATING_DTYPES and not self.fixed_dtype
        return dtype if follows else self.dtype


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
    formulas: dict[str, str] = Field(default_factory=dict, exclude_if=lambda value: not value)
    """Axis whose size follows from others -> its formula, such as `2 * hidden` or `hidden / 128`."""
    inputs: tuple[Argument, ...]
    """Arguments of `Model.forward`, in order. Those that are `in_place` are results too."""
    parameters: tuple[Argument, ...]
    """Floating-point parameters and buffers of `Model`, in `state_dict` order, dots replaced by underscores."""
    outputs: tuple[Argument, ...]
    """What `Model.forward` returns; may be empty where an input is `in_place`."""
    dtypes: tuple[str, ...] = ()
    """Types that workloads may ask for, such as `float16`: a native solution exports one launcher for each. Empty: one
    launcher, of the types that the arguments have."""
    reference: str
    """Python source with `Model`, `get_inputs` and `get_init_inputs`."""
    held_out: tuple[dict[str, int], ...] = ()
    """Further sizes of some axes, unknown to whoever writes a solution, that a solution must compute rightly too."""
    baselines: tuple[str, ...] = ("torch_eager",)
    """What speedup is measured against: names that PyTorch has, and keys of `kernels`."""
    kernels: dict[str, str] = Field(default_factory=dict)
    """Existing kernels for the same work, trusted: name, such as `upstream` or `current`, -> stand-alone source with
    the launcher."""
    kernel_language: Language | None = None
    """What `kernels` are written in: `cuda` or `cpp`; absent when there are none."""
    compiler_flags: tuple[str, ...] = ()
    """Further flags for solutions in `kernel_language`, the kernels themselves included, such as `-use_fast_math`."""
    languages: tuple[Language, ...] = tuple(Language)
    """The languages a solution may use."""
    requires: tuple[str, ...] = ()
    """Importable packages that the reference needs beside torch."""
    compulsory_bytes: int
    """Inputs, parameters and outputs once each, and again what is written in place: the least that is moved."""
    flops: int
    """Floating-point operations of matrix products and convolutions in the reference."""
    soundness: tuple[SoundnessFlag, ...] = ()
    upstream: Upstream

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kernels and self.kernel_language not in (Language.CPP, Language.CUDA):
            raise ValueError("kernels need a kernel_language, cuda or cpp")
        if any(argument.fixed_dtype for argument in self.parameters):
            raise ValueError("parameters follow the workload's data type: fixed_dtype is for inputs and outputs")
        if any(argument.in_place for argument in (*self.parameters, *self.outputs)):
            raise ValueError("only an input can be in_place")
        if any(item.in_place and item.kind == "scalar" for item in self.inputs):
            raise ValueError("a scalar is passed by value and cannot be in_place")
        return self

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

    atol: float = Field(ge=0)
    rtol: float = Field(ge=0)


class Workload(Versioned):
    """One set of sizes, data type, seeds and value distribution for a definition, with its tolerance."""

    definition: str
    name: str
    """Unique within the definition."""
    axes: dict[str, int]
    dtype: str = "float32"
    """Floating-point inputs and parameters are cast to this type, but for those of fixed type."""
    seed: int = 42
    """Seed of parameters; inputs of trial i use a seed drawn from it."""
    distribution: Literal["as_given"] = "as_given"
    """`as_given`: the values of `get_inputs`."""
    tolerance: Tolerance
    held_out: bool = False
    """Not shown to whoever writes a solution; not part of the id, because it does not change a verdict."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """Digest of everything above but `held_out`."""
        return digest(self.model_dump(mode="json", exclude={"id", "held_out"}))
