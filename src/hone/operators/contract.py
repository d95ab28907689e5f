"""What a call of a native solution looks like: its schema, and whether given tensors are what the launcher takes.

No PyTorch here: tensors are looked at by `shape`, `dtype`, `device` and `is_contiguous()` alone, so that sizes may be
numbers or the symbols that a compiler traces with.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from hone.core.errors import HoneError
from hone.records import Argument, Definition, Workload
from hone.records.layout import FLOATING

SCHEMA_TYPES = {
    "float32": "float", "float64": "float", "bool": "bool",
    "int64": "int", "int32": "int", "int16": "int", "int8": "int", "uint8": "int",
}  # fmt: skip
"""Of scalars: data type in the definition -> type in PyTorch's schema language."""


class OperatorError(HoneError):
    """A call that the kernel does not take, or a kernel that cannot be called."""


@dataclass(frozen=True)
class Derived:
    """Size of an axis that no input has: a share of another axis, or a constant where `axis` is empty."""

    axis: str
    share: Fraction

    def of(self, sizes: Mapping[str, Any]) -> Any:
        """The size, given those of the other axes."""
        whole = sizes[self.axis] if self.axis else 1
        return whole * self.share.numerator // self.share.denominator


@dataclass(frozen=True)
class Contract:
    """A definition as a function of positional arguments: inputs, then parameters; outputs are returned."""

    definition: Definition
    derived: Mapping[str, Derived]
    """Axes that only outputs have."""

    @classmethod
    def of(cls, definition: Definition, workloads: Iterable[Workload] = ()) -> Contract:
        """Axes that only outputs have are learnt from all known sizes; raises OperatorError when that is impossible."""
        given = _given_axes(definition)
        known = [dict(definition.axes), *(dict(workload.axes) for workload in workloads)]
        missing = [axis for axis in definition.axes if axis not in given]
        return cls(definition, {axis: _derive(definition, axis, given, known) for axis in missing})

    def message(self) -> list[Any]:
        """All that a call depends on, as JSON: two contracts with the same message are the same function's."""
        chosen = {"inputs", "parameters", "outputs", "dtypes"}
        derived = {axis: [rule.axis, str(rule.share)] for axis, rule in self.derived.items()}
        return [self.definition.model_dump(mode="json", include=chosen), list(self.definition.axes), derived]

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """Inputs and parameters, in the order of a call."""
        return (*self.definition.inputs, *self.definition.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of `arguments` as a Python call can give them."""
        return tuple(python_name(item) for item in self.arguments)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs as a Python call can give them."""
        return tuple(python_name(item) for item in self.definition.outputs)

    @property
    def written(self) -> tuple[str, ...]:
        """Names of the inputs that are written in place."""
        return tuple(python_name(item) for item in self.definition.inputs if item.in_place)

    def schema(self, *, out: bool = False) -> str:
        """In PyTorch's schema language, such as `(Tensor(a0!) input, Tensor weight, float eps) -> Tensor`.

        `out`: outputs are further arguments, which are written to, instead of results.
        """
        parts = [_declared(item, f"a{index}" if item.in_place else "") for index, item in enumerate(self.arguments)]
        outputs = self.definition.outputs
        if out:
            parts += [_declared(item, f"o{index}") for index, item in enumerate(outputs)]
        results = ["Tensor"] * (0 if out else len(outputs))
        return f"({', '.join(parts)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"

    def dtype(self, values: Sequence[Any]) -> str:
        """Type that the call is for: that of the first floating-point tensor whose type is not fixed."""
        for item, value in zip(self.arguments, values, strict=True):
            if item.kind == "tensor" and item.dtype in FLOATING and not item.fixed_dtype:
                return dtype_name(value)
        return next(iter(self.definition.dtypes), "float32")

    def sizes(self, values: Sequence[Any]) -> dict[str, Any]:
        """Size of every axis, in the definition's order; shapes are taken as they are, see `complaint`."""
        found: dict[str, Any] = {}
        for item, value in zip(self.arguments, values, strict=True):
            if item.kind == "tensor":
                for axis, size in zip(item.shape, value.shape, strict=True):
                    found.setdefault(axis, size)
        return {axis: found[axis] if axis in found else self.derived[axis].of(found) for axis in self.definition.axes}

    def output_shapes(self, sizes: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Shapes of the outputs for sizes of the axes."""
        return [tuple(sizes[axis] for axis in item.shape) for item in self.definition.outputs]

    def output_dtypes(self, dtype: str) -> list[str]:
        """Types of the outputs in a call for `dtype`."""
        return [self._type(item, dtype) for item in self.definition.outputs]

    def complaint(self, values: Sequence[Any], outputs: Sequence[Any] = ()) -> str:
        """Why the kernel does not take this call, in one sentence; empty when it does.

        `values`: one for each of `arguments`; `outputs`: buffers for the outputs, none where they are to be made.
        """
        if len(values) != len(self.arguments):
            return f"{len(values)} arguments, the kernel takes {len(self.arguments)}: {', '.join(self.names)}"
        pairs = [*zip(self.arguments, values, strict=True), *zip(self.definition.outputs, outputs, strict=False)]
        tensors = [(item, value) for item, value in pairs if item.kind == "tensor"]
        return (
            _wrong_kind(pairs)
            or self._wrong_type(tensors, values)
            or _wrong_place(tensors)
            or self._wrong_size(tensors, values)
        )

    def _wrong_type(self, tensors: Sequence[tuple[Argument, Any]], values: Sequence[Any]) -> str:
        dtype = self.dtype(values)
        if self.definition.dtypes and dtype not in self.definition.dtypes:
            return f"data type {dtype} is not among {', '.join(self.definition.dtypes)}"
        for item, value in tensors:
            if dtype_name(value) != self._type(item, dtype):
                return f"{item.name} is {dtype_name(value)}, not {self._type(item, dtype)}"
        return ""

    def _type(self, item: Argument, dtype: str) -> str:
        return item.dtype_at(dtype) if self.definition.dtypes else item.dtype

    def _wrong_size(self, tensors: Sequence[tuple[Argument, Any]], values: Sequence[Any]) -> str:
        for item, value in tensors:
            if len(value.shape) != len(item.shape):
                return f"{item.name} has {len(value.shape)} dimensions, not {len(item.shape)}"
        sizes = self.sizes(values)
        for item, value in tensors:
            for axis, size in zip(item.shape, value.shape, strict=True):
                if size != sizes[axis]:
                    return f"{item.name} has {size} where {axis} is {sizes[axis]}"
        return ""


def python_name(item: Argument) -> str:
    """The argument's name; with an underscore behind it where Python has that word for itself."""
    return f"{item.name}_" if keyword.iskeyword(item.name) else item.name


def dtype_name(value: Any) -> str:
    """PyTorch's name of a tensor's data type, without the prefix."""
    return str(value.dtype).removeprefix("torch.")


def _declared(item: Argument, alias: str) -> str:
    kind = SCHEMA_TYPES[item.dtype] if item.kind == "scalar" else f"Tensor({alias}!)" if alias else "Tensor"
    return f"{kind} {python_name(item)}"


def _wrong_kind(pairs: Sequence[tuple[Argument, Any]]) -> str:
    for item, value in pairs:
        if hasattr(value, "shape") != (item.kind == "tensor") or value is None:
            return f"{item.name} is not a {'tensor' if item.kind == 'tensor' else 'number'}"
    return ""


def _wrong_place(tensors: Sequence[tuple[Argument, Any]]) -> str:
    device = tensors[0][1].device
    for item, value in tensors:
        if value.device != device:
            return f"{item.name} is on {value.device}, {tensors[0][0].name} on {device}"
        if not value.is_contiguous():
            return f"{item.name} is not contiguous"
    return ""


def _given_axes(definition: Definition) -> tuple[str, ...]:
    arguments = (*definition.inputs, *definition.parameters)
    return tuple(dict.fromkeys(axis for item in arguments for axis in item.shape))


def _derive(definition: Definition, axis: str, given: Sequence[str], known: Sequence[Mapping[str, int]]) -> Derived:
    """The simplest rule that holds for all known sizes: a share of a given axis, or a constant."""
    rules = [Derived(other, Fraction(known[0][axis], known[0][other])) for other in given if known[0][other]]
    rules.append(Derived("", Fraction(known[0][axis])))
    holding = [rule for rule in rules if all(_holds(rule, axis, sizes) for sizes in known)]
    if not holding:
        problem = f"axis {axis} is in no input, and no rule gives its size from the others"
        raise OperatorError(problem, where=definition.name, remedy="let the axis be one of an input")
    return min(holding, key=lambda rule: rule.share.numerator + rule.share.denominator)


def _holds(rule: Derived, axis: str, sizes: Mapping[str, int]) -> bool:
    return (sizes[rule.axis] if rule.axis else 1) * rule.share == sizes[axis]
