"""A kernel's entry: what a YAML file `<number>_<title>.yaml` may say.

The files are our own: they name headers of packages, and hold the text that calls them, never upstream's text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from hone.core.errors import SourceError
from hone.launcher import C_TYPES, NARROW_TYPES
from hone.records import Language, Tolerance
from hone.sources.axes import FormulaError, names_in, size_of
from hone.sources.extraction.replacement import Replacement

FLOATING = ("float16", "bfloat16", "float32")
DTYPES = (*C_TYPES, *NARROW_TYPES[Language.CUDA])
FORM = "compare with config/kernels/miniature/1_rms_norm.yaml, a whole entry; docs/astra.md says what each field is"


def _identifier(value: str) -> str:
    if not re.fullmatch(r"[a-z]\w*", value):
        raise ValueError(f"'{value}' must start with a small letter and hold letters, digits and _ only")
    return value


def _dtype(value: str) -> str:
    if value not in DTYPES:
        raise ValueError(f"'{value}' is not one of {', '.join(sorted(DTYPES))}")
    return value


Identifier = Annotated[str, AfterValidator(_identifier)]
Dtype = Annotated[str, AfterValidator(_dtype)]


class Part(BaseModel):
    """Base of all sections of an entry: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class TensorOrScalar(Part):
    """An input or output of the function."""

    name: Identifier
    """As an argument of `Model.forward` and of the launcher."""
    axes: tuple[Identifier, ...] = ()
    """Names of axes, outermost first; none for a scalar."""
    dtype: Dtype | None = None
    """A type that does not follow the workload's, such as `int64`, `float8_e4m3fn`, or `float32` of a log-sum-exp."""
    scalar: Dtype | None = None
    """Passed by value, of this type: `float64` or `int64`."""
    in_place: bool = False
    """Inputs only: the function writes to it, and what it wrote is compared."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.scalar and (self.axes or self.dtype or self.in_place):
            raise ValueError("a scalar has a type alone: leave out axes, dtype and in_place")
        if not self.scalar and not self.axes:
            raise ValueError("needs axes, or scalar: <type>")
        return self


class Kernel(Part):
    """One existing kernel: headers of packages, and our own text that calls them."""

    packages: tuple[str, ...] = Field(min_length=1)
    """Names of the source's packages, in the order in which headers are looked for."""
    headers: tuple[str, ...] = Field(min_length=1)
    """As in an `#include`."""
    defines: dict[str, str] = {}
    """Macros that stand before everything else."""
    preamble: str = ""
    """C++ text between the headers and the launchers, such as functions of our own."""
    body: str
    """Statements of the launcher, for every data type: `scalar_t` is the type, arguments have the names of the entry's
    inputs, outputs and axes, and `stream` is the stream of a CUDA kernel."""
    prune: bool = True
    """Leave out declarations that the launcher cannot reach."""


class Template(Part):
    """Source text that a package makes from a Jinja template in its Python files; those are read, never executed."""

    file: str
    variable: str
    """Name of the text constant in the file."""
    values: dict[str, str] = {}
    """Variable of the template -> text."""
    values_from: dict[str, str] = {}
    """Variable of the template -> `<file>:<name of a text constant>`."""


class OperatorTensor(Part):
    """A tensor among an operator's arguments that is not an input or output as it is."""

    tensor: Identifier | None = None
    """The input or output that is given in another shape; none: memory of the function's own, of float32."""
    shape: tuple[int | str, ...] = Field(min_length=1)
    """Numbers, or formulas of axes."""


class Operator(Part):
    """The package's own compiled function, that `python -m studies upstream` compares with."""

    packages: tuple[str, ...] = Field(min_length=1)
    """The first has the sources; the include folders of all are searched, and the folders of the sources."""
    sources: tuple[str, ...] = ()
    """Files of the first package that are compiled."""
    template: Template | None = None
    prelude: str = ""
    """A header that stands before every source."""
    flags: tuple[str, ...] = ()
    """Of nvcc, those that the package uses."""
    name: str
    """Of the operator that the sources register with PyTorch, or under which `function` is exported."""
    function: str = ""
    """Where the sources register nothing: a C++ function of theirs that takes tensors of tvm-ffi. For every data type:
    `scalar_t` is the type."""
    arguments: tuple[str | bool | int | float | OperatorTensor | None, ...]
    """In order: names of inputs and outputs, formulas of axes, tensors of another shape, or constants."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.function and (self.template or not self.sources):
            raise ValueError("function: needs sources, and no template")
        return self


class Shape(Part):
    """One workload for each of its data types."""

    name: Identifier
    axes: dict[Identifier, Annotated[int, Field(ge=1)]]
    """Sizes of the axes that have no formula."""
    dtypes: tuple[str, ...] = ()
    """Empty: all of the entry's."""
    held_out: bool = False
    """Not shown to whoever writes a solution."""


class Entry(Part):
    """One kernel with its function, reference and workloads."""

    language: Language = Language.CUDA
    """Of the kernels: `cuda` or `cpp`."""
    dtypes: tuple[str, ...] = ()
    """Data types that launchers exist for. None: there is one launcher, and every tensor names its type."""
    flags: tuple[str, ...] = ()
    """Flags with which upstream is compiled, and so every solution too."""
    axes: dict[Identifier, str | None]
    """Names in the launcher's order; the value is empty, or a formula of others, such as `2 * hidden`, `hidden / 128`
    (which must be whole) or `(tokens + 63) // 64`."""
    inputs: tuple[TensorOrScalar, ...] = Field(min_length=1)
    outputs: tuple[TensorOrScalar, ...] = ()
    reference: str
    """PyTorch: `Model`, `get_inputs`, `get_init_inputs`, with every axis as a constant in capitals, which the sizes of
    the workload at hand are written to. Half types are computed in float32, float64 in float64."""
    kernels: dict[str, Kernel] = Field(min_length=1)
    """`upstream` is what solutions start from and are measured against; `current` is today's."""
    operator: Operator | None = None
    replaces: tuple[Replacement, ...] = ()
    """Functions of other packages that a kernel of this definition can stand in for."""
    tolerances: dict[str, Tolerance] = {}
    """Data type -> tolerance; of no use where all outputs are integers, which must be equal."""
    workloads: tuple[Shape, ...] = Field(min_length=1)
    """The first gives the definition its own sizes."""

    @field_validator("dtypes")
    @classmethod
    def _floating(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [dtype for dtype in value if dtype not in FLOATING]:
            raise ValueError(f"'{wrong[0]}' is not one of {', '.join(FLOATING)}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.language not in (Language.CUDA, Language.CPP):
            raise ValueError(f"language: cuda or cpp, not {self.language}")
        if "upstream" not in self.kernels:
            raise ValueError("kernels: there is no 'upstream'")
        if not self.outputs and not any(item.in_place for item in self.inputs):
            raise ValueError("outputs: there is none, and no input is in_place")
        if any(item.scalar or item.in_place for item in self.outputs):
            raise ValueError("outputs: neither scalar nor in_place makes sense for an output")
        typed = {item.dtype or item.scalar for item in (*self.inputs, *self.outputs)} - {None}
        if nameless := typed - {*C_TYPES, *NARROW_TYPES[self.language]}:
            raise ValueError(f"language: {self.language} has no type for {', '.join(sorted(map(str, nameless)))}")
        if not self.dtypes and (untyped := [item for item in self._tensors() if not item.dtype]):
            raise ValueError(f"{untyped[0].name}: needs a dtype, because the entry has no dtypes that it could follow")
        self._check_names()
        self._check_axes()
        self._check_operator()
        return self

    def _check_names(self) -> None:
        names = [item.name for item in (*self.inputs, *self.outputs)] + list(self.axes)
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"'{twice[0]}' stands for two things; inputs, outputs and axes need different names")
        shapes = [shape.name for shape in self.workloads]
        if again := sorted({name for name in shapes if shapes.count(name) > 1}):
            raise ValueError(f"workloads: '{again[0]}' is there twice")

    def _check_axes(self) -> None:
        for name, formula in self.formulas.items():
            for axis in sorted(_names_in(formula, f"axes.{name}")):
                if axis not in self.axes:
                    raise ValueError(f"axes.{name}: '{axis}' of '{formula}' is not among the axes")
                if self.axes[axis]:
                    raise ValueError(f"axes.{name}: '{formula}' is a formula of a formula; '{axis}' must have none")
        for item in (*self.inputs, *self.outputs):
            if unknown := [axis for axis in item.axes if axis not in self.axes]:
                raise ValueError(f"{item.name}: '{unknown[0]}' is not among the axes")
        free = [name for name in self.axes if name not in self.formulas]
        for shape in self.workloads:
            if sorted(shape.axes) != sorted(free):
                raise ValueError(f"workloads.{shape.name}.axes: needs exactly {', '.join(free)}")
            try:
                self.sizes(shape)
            except FormulaError as error:
                raise ValueError(f"workloads.{shape.name}.axes: {error}") from None
            if unknown := [dtype for dtype in shape.dtypes if dtype not in self.dtypes]:
                raise ValueError(f"workloads.{shape.name}.dtypes: '{unknown[0]}' is not among the entry's dtypes")

    def _check_operator(self) -> None:
        if self.operator is None:
            return
        if self.operator.function and not self.dtypes:
            raise ValueError("operator.function: the entry has no dtypes that scalar_t could stand for")
        tensors = [item.name for item in self._tensors()]
        names = [item.name for item in (*self.inputs, *self.outputs)]
        formulas = [item for item in self.operator.arguments if isinstance(item, str) and item not in names]
        for item in self.operator.arguments:
            if isinstance(item, OperatorTensor):
                formulas += [size for size in item.shape if isinstance(size, str)]
                if item.tensor and item.tensor not in tensors:
                    raise ValueError(f"operator.arguments: '{item.tensor}' is no tensor of the entry")
        for formula in formulas:
            if unknown := sorted(_names_in(formula, "operator.arguments") - set(self.axes)):
                raise ValueError(f"operator.arguments: '{unknown[0]}' is neither an input, an output nor an axis")

    def _tensors(self) -> list[TensorOrScalar]:
        return [item for item in (*self.inputs, *self.outputs) if not item.scalar]

    @property
    def formulas(self) -> dict[str, str]:
        """Axis -> formula, of those that follow from others."""
        return {name: formula for name, formula in self.axes.items() if formula}

    def sizes(self, shape: Shape) -> dict[str, int]:
        """Sizes of all axes, in the launcher's order."""
        formulas = self.formulas
        return {
            name: size_of(formulas[name], shape.axes) if name in formulas else shape.axes[name] for name in self.axes
        }

    def dtypes_of(self, shape: Shape) -> tuple[str, ...]:
        """Data types that a shape is judged in."""
        return shape.dtypes or self.dtypes


def _names_in(formula: str, where: str) -> set[str]:
    try:
        return names_in(formula)
    except FormulaError as error:
        raise ValueError(f"{where}: {error}") from None


def parse_entry(text: str, where: str) -> Entry:
    """An entry from YAML text; raises SourceError that names every wrong field."""
    try:
        values: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SourceError(f"is not YAML: {error}", where=where, remedy=FORM) from None
    if not isinstance(values, Mapping):
        raise SourceError("must hold key: value pairs", where=where, remedy=FORM)
    try:
        return Entry.model_validate(dict(values))
    except ValidationError as error:
        complaints = "\n  ".join(map(_complaint, error.errors(include_url=False)))
        raise SourceError(complaints, where=where, remedy=FORM) from None


def _complaint(item: Any) -> str:
    path = ".".join(str(part) for part in item["loc"])
    said = "unknown key" if item["type"] == "extra_forbidden" else item["msg"].removeprefix("Value error, ")
    return f"{path}: {said}" if path else said
