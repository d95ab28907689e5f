"""Names for a definition's arguments and axes: C identifiers, all different, the author's own words if possible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hone.records import Argument
from hone.sources.inspection import Inspection, Value

C_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq
"""
TAKEN = """
    launch stream main std errno assert linux unix stdin stdout stderr signbit isnan isinf isfinite min max
    dim3 half float2 float4 int2 int4 cudaStream_t __half threadIdx blockIdx blockDim gridDim warpSize
"""
"""Names that a launcher's argument would hide or break: its own, macros of the standard headers, CUDA's."""


class Names:
    """Hands out each identifier once."""

    def __init__(self) -> None:
        self._used = {*C_KEYWORDS.split(), *TAKEN.split()}

    def take(self, wish: str, suffix: str) -> str:
        """`wish` as a C identifier; where that is taken, with `_<suffix>`, then with a number."""
        base = re.sub(r"\W", "_", wish, flags=re.ASCII) or suffix
        if base[0].isdigit() or base.startswith("_"):
            base = f"{suffix}{'' if base.startswith('_') else '_'}{base}"
        name, count = base, 1
        while name in self._used:
            name = f"{base}_{suffix}" if count == 1 else f"{base}_{suffix}{count}"
            count += 1
        self._used.add(name)
        return name


class Axes:
    """Names every dimension. A name has one size; dimensions of one size may share a name.

    A size that is known to follow a module constant, or is the value of exactly one, takes the constant's name in
    lower case. Otherwise it takes the name of a dimension of the same size that is already there: for a further input,
    at the same position of an earlier input; for parameters and outputs, anywhere. Otherwise it becomes
    `<argument>_<position>`.
    """

    def __init__(self, constants: Mapping[str, int], names: Names) -> None:
        self.sizes: dict[str, int] = {}
        self._names = names
        self._by_constant: dict[str, str] = {}
        values = [value for value in constants.values() if value > 1]
        self._constants = {value: name for name, value in constants.items() if values.count(value) == 1}
        self._by_position: dict[tuple[int, int], str] = {}

    def name(self, argument: str, shape: Sequence[int], *, share: bool, follows: Sequence[str] = ()) -> tuple[str, ...]:
        """One name per dimension; `share` allows names of any earlier dimension of equal size.

        `follows`: the constant that each dimension is known to follow, empty where none is known.
        """
        known = follows or ("",) * len(shape)
        return tuple(
            self._constant(known[position], size)
            if known[position]
            else self._dimension(argument, position, size, share)
            for position, size in enumerate(shape)
        )

    def _dimension(self, argument: str, position: int, size: int, share: bool) -> str:
        if size in self._constants:
            return self._constant(self._constants[size], size)
        known = self._by_position.get((position, size))
        if known is None and share:
            known = next((name for name, value in self.sizes.items() if value == size), None)
        if known is None:
            known = self._names.take(f"{argument}_{position}", "axis")
            self.sizes[known] = size
            self._by_position[position, size] = known
        return known

    def _constant(self, constant: str, size: int) -> str:
        if constant not in self._by_constant:
            name = self._names.take(constant.lower(), "size")
            self._by_constant[constant] = name
            self.sizes[name] = size
        return self._by_constant[constant]


def name_arguments(
    inspection: Inspection,
) -> tuple[tuple[Argument, ...], tuple[Argument, ...], tuple[Argument, ...], dict[str, int]]:
    """(inputs, parameters, outputs, axes) with identifiers that differ from each other and from C++'s words."""
    names = Names()
    inputs = [names.take(value.name, "in") for value in inspection.inputs]
    several = len(inspection.outputs) > 1
    outputs = [names.take(f"out{index}" if several else "out", "result") for index in range(len(inspection.outputs))]
    parameters = [names.take(value.name, "param") for value in inspection.parameters]
    axes = Axes(inspection.constants, names)

    def arguments(given: Sequence[str], values: Sequence[Value], share: bool) -> tuple[Argument, ...]:
        return tuple(
            Argument(
                name=name,
                kind=value.kind,
                dtype=value.dtype,
                shape=axes.name(name, value.shape, share=share, follows=value.follows),
            )
            for name, value in zip(given, values, strict=True)
        )

    named = (
        arguments(inputs, inspection.inputs, False),
        arguments(parameters, inspection.parameters, True),
        arguments(outputs, inspection.outputs, True),
    )
    return *named, axes.sizes
