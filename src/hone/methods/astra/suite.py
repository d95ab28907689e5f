"""The agents' own test suite: the testing role's answer, checked, as workloads; the rounds are measured on it.

The suite never decides a result. Every version is also judged on all workloads of the definition, held-out ones
included, and that is what tables are made of. A held-out size that an agent happens to name is allowed: the agent does
not learn that it is one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hone.methods.extract import fenced_blocks
from hone.records import Definition, Versioned, Workload
from hone.sources.axes import FormulaError, multiple, size_of
from hone.sources.workloads import moved_bytes

MOST_WORKLOADS = 8
BYTES_FACTOR = 2.0
"""A suite's workload may move so many times the bytes of the largest visible one: judging must stay affordable."""

LARGEST_SIZE = 2**31 - 1


class Suite(Versioned):
    """Where one kernel's suite came from."""

    definition: str
    origin: Literal["answer", "visible_workloads"]
    """`visible_workloads`: the answer held nothing usable, so the definition's own visible workloads stand in."""
    workloads: tuple[str, ...]
    """Ids, in the suite's order."""
    problems: tuple[str, ...] = ()
    """What was wrong with the answer or with entries of it; those were left out."""


class BadEntryError(ValueError):
    """An entry of the answer that cannot become a workload; the message says why."""


class Limits:
    """What a suite's workloads may be, drawn from the visible workloads of one definition."""

    def __init__(self, definition: Definition, visible: Sequence[Workload]) -> None:
        """`visible` must not be empty."""
        self.definition = definition
        self.visible = visible
        self.tolerances = {item.dtype: item.tolerance for item in reversed(visible)}
        self.max_bytes = int(BYTES_FACTOR * max(moved_bytes(definition, item) for item in visible))
        formulas, products = definition.formulas, _products(definition.formulas)
        axes = [axis for axis in definition.axes if axis not in formulas]
        sizes = {axis: tuple(item.axes[axis] for item in visible) for axis in axes}
        telling = len({tuple(item.axes.items()) for item in visible}) > 1  # one example tells nothing of the others
        self.fixed = {axis: found[0] for axis, found in sizes.items() if telling and len(set(found)) == 1}
        varying = {axis: found for axis, found in sizes.items() if telling and axis not in self.fixed}
        self._observed = _multiples(varying)
        self.free = [axis for axis in axes if axis not in self.fixed and axis not in self._observed]
        self.multiples = self._observed | products
        self.rules = {axis: formula for axis, formula in formulas.items() if axis not in products}

    def workload(self, entry: Any) -> Workload:
        """An entry `{"axes": {...}, "dtype": "..."}` as a workload; raises BadEntryError.

        Axes that are fixed or follow another one may be left out; if given, they must be right.
        """
        axes, dtype = self._fields(entry)
        if not isinstance(dtype, str) or dtype not in self.tolerances:
            raise BadEntryError(f"dtype {dtype!r} is none of {', '.join(sorted(self.tolerances))}")
        unknown = [axis for axis in axes if axis not in self.definition.axes]
        if unknown:
            raise BadEntryError(f"{unknown[0]!r} is no axis; there are {', '.join(self.definition.axes)}")
        for axis, size in axes.items():
            if type(size) is not int or not 1 <= size <= LARGEST_SIZE:
                raise BadEntryError(f"the size of {axis} is not a whole number from 1 to {LARGEST_SIZE}")
        made = self._make(self._complete(axes), dtype)
        nbytes = moved_bytes(self.definition, made)
        if nbytes > self.max_bytes:
            raise BadEntryError(f"{made.name} moves {nbytes / 1e6:.4g} MB, more than {self.max_bytes / 1e6:.4g} MB")
        return made

    def _fields(self, entry: Any) -> tuple[dict[str, Any], Any]:
        if not isinstance(entry, dict) or set(entry) - {"axes", "dtype"} or not isinstance(entry.get("axes"), dict):
            raise BadEntryError('is not of the form {"axes": {...}, "dtype": "..."}')
        only = next(iter(self.tolerances)) if len(self.tolerances) == 1 else None
        return entry["axes"], entry.get("dtype", only)

    def _complete(self, axes: Mapping[str, int]) -> dict[str, int]:
        missing = [axis for axis in self.free if axis not in axes]
        if missing:
            raise BadEntryError(f"the size of {missing[0]} is missing")
        full = {**self.fixed, **{axis: axes[axis] for axis in self.free}}
        full |= {axis: factor * full[other] for axis, (factor, other) in self._observed.items()}
        full |= {axis: _size_of(formula, full) for axis, formula in self.definition.formulas.items()}
        for axis, size in axes.items():
            if size != full[axis]:
                raise BadEntryError(f"{axis} = {size}, but it must be {full[axis]} here")
        return {axis: full[axis] for axis in self.definition.axes}

    def _make(self, axes: dict[str, int], dtype: str) -> Workload:
        """The visible workload of that size and type where there is one, so that it is judged once."""
        for item in self.visible:
            if item.axes == axes and item.dtype == dtype:
                return item
        name = "_".join([*(f"{axis}{axes[axis]}" for axis in self.free or axes), dtype])
        tolerance = self.tolerances[dtype]
        return Workload(definition=self.definition.name, name=name, axes=axes, dtype=dtype, tolerance=tolerance)


def _products(formulas: Mapping[str, str]) -> dict[str, tuple[int, str]]:
    """Those formulas that are a multiple of one axis."""
    found = {axis: multiple(formula) for axis, formula in formulas.items()}
    return {axis: rule for axis, rule in found.items() if rule is not None}


def _size_of(formula: str, sizes: Mapping[str, int]) -> int:
    try:
        return size_of(formula, sizes)
    except FormulaError as error:
        raise BadEntryError(str(error)) from None


def _multiples(sizes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, str]]:
    """Axis -> (factor, the axis that it is that multiple of in every visible workload), such as 2 times another's."""
    found: dict[str, tuple[int, str]] = {}
    for axis, values in sorted(sizes.items(), key=lambda item: item[1]):  # the smaller first: they are not multiples
        for other, base in sizes.items():
            factor = values[0] // base[0]
            follows = all(value == factor * size for value, size in zip(values, base, strict=True))
            if axis != other and follows and other not in found:
                found[axis] = (factor, other)
                break
    return found


def make_suite(definition: Definition, visible: Sequence[Workload], answer: str) -> tuple[Suite, list[Workload]]:
    """The suite of one kernel from the testing role's answer, or the visible workloads where nothing is usable."""
    limits = Limits(definition, visible)
    entries, problems = _entries(answer)
    chosen: dict[str, Workload] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            made = limits.workload(entry)
        except BadEntryError as error:
            problems.append(f"entry {number}: {error}")
            continue
        if made.id in chosen:
            problems.append(f"entry {number}: {made.name} is there already")
        elif len(chosen) == MOST_WORKLOADS:
            problems.append(f"entry {number}: a suite has at most {MOST_WORKLOADS} workloads")
        else:
            chosen[made.id] = made
    workloads = list(chosen.values()) or list(visible)
    origin: Literal["answer", "visible_workloads"] = "answer" if chosen else "visible_workloads"
    ids = tuple(item.id for item in workloads)
    return Suite(definition=definition.name, origin=origin, workloads=ids, problems=tuple(problems)), workloads


def _entries(answer: str) -> tuple[list[Any], list[str]]:
    """The entries of the first fenced block that is a JSON list, and what is wrong with the answer as a whole."""
    said = "no fenced code block"
    for block, _ in fenced_blocks(answer):
        try:
            value = json.loads(block)
        except (ValueError, RecursionError) as error:
            said = f"a code block is not JSON: {error}"
            continue
        if isinstance(value, list):
            return value, [] if value else ["the list is empty"]
        said = "the JSON is not a list"
    return [], [said]
