"""Calls in another function's signature turned into calls of an operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.operators.contract import OperatorError
from hone.operators.native import ALIGNMENT_BYTES
from hone.operators.operator import Operator
from hone.sources.extraction.replacement import Replacement

REQUIRED = inspect.Parameter.empty
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Binding:
    """How the parameters of one function become an operator's arguments; plain loops, so that compilers trace it."""

    def __init__(self, operator: Operator, replacement: Replacement, original: Callable[..., Any], name: str) -> None:
        """Raises OperatorError when the function's parameters are not those that the replacement speaks of."""
        self._operator, self._replacement = operator, replacement
        parameters = _parameters_of(original, name)
        self._defaults = {item.name: item.default for item in parameters}
        self._order = tuple(item.name for item in parameters if item.kind in POSITIONAL)
        names, contract = replacement.arguments, operator.contract
        self._inputs = tuple(names.get(item, item) for item in contract.names)
        outputs = tuple(names.get(item, item) for item in contract.output_names)
        self._outputs = tuple(item if item in self._defaults else "" for item in outputs)
        used = {*self._inputs, *self._outputs, *replacement.fixed, *replacement.ignored}
        usual = {item: value for item, value in self._defaults.items() if item not in used}
        self._built_in = {**replacement.fixed, **usual}
        axes = {axis for product in replacement.limits for axis in product.split(" * ")}
        if unknown := axes - set(contract.definition.axes):
            known = ", ".join(contract.definition.axes)
            raise OperatorError(f"`limits` name {', '.join(sorted(unknown))}; axes are {known}", where=name)
        missing = [item for item in (*self._inputs, *replacement.fixed, *names.values()) if item not in self._defaults]
        unused = [item for item, default in usual.items() if default is REQUIRED]
        if missing or unused:
            problem = f"has no parameter {', '.join(missing)}" if missing else f"needs {', '.join(unused)}, too"
            remedy = f"correct `replaces` in the kernel's config entry; its parameters are {', '.join(self._defaults)}"
            raise OperatorError(problem, where=name, remedy=remedy)

    def plan(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Callable[[], Any] | None, str]:
        """What to call instead, or None and why the kernel does not take the call."""
        given = {**self._defaults, **dict(zip(self._order, arguments, strict=False)), **named}
        if len(arguments) > len(self._order) or len(given) > len(self._defaults):
            return None, "its signature does not allow the call"
        for name, value in self._built_in.items():
            if not _same(given[name], value):
                return None, f"{name} is not {value!r}"
        values = [given[name] for name in self._inputs]
        buffers = [given[name] if name else None for name in self._outputs]
        if any(value is REQUIRED for value in (*values, *buffers)):
            return None, "its signature does not allow the call"
        present = [buffer for buffer in buffers if buffer is not None]
        if present and len(present) < len(buffers):
            return None, "some outputs are given and some are not"
        reason = self._operator.complaint(values, present) or unsafe_memory(values, present)
        reason = reason or self._replacement.complaint(self._operator.contract.sizes(values))
        if reason:
            return None, reason
        return (self._into(values, present) if present else lambda: self._operator(*values)), ""

    def named(self, values: Sequence[Any], buffers: Sequence[Any]) -> dict[str, Any]:
        """The function's keyword arguments for an operator's arguments; `buffers` of the outputs that it requires."""
        found = dict(zip(self._inputs, values, strict=True))
        for name, buffer in zip(self._outputs, buffers, strict=True):
            if name and self._defaults[name] is REQUIRED:
                found[name] = buffer
        return found

    def _into(self, values: Sequence[Any], buffers: Sequence[Any]) -> Callable[[], Any]:
        def call() -> Any:
            self._operator.out(*values, *buffers)
            return buffers[0] if len(buffers) == 1 else tuple(buffers)

        return call


def unsafe_memory(values: Sequence[Any], buffers: Sequence[Any]) -> str:
    """Why the tensors' addresses rule the kernel out; not asked while a compiler traces, where there are none."""
    import torch

    if torch.compiler.is_compiling():
        return ""
    inputs = [value.data_ptr() for value in values if isinstance(value, torch.Tensor)]
    outputs = [buffer.data_ptr() for buffer in buffers]
    if any(address % ALIGNMENT_BYTES for address in (*inputs, *outputs)):
        return f"a tensor does not begin at a multiple of {ALIGNMENT_BYTES} bytes"
    return "an output is an input, too" if set(inputs) & set(outputs) else ""


def _same(given: Any, value: Any) -> bool:
    if given is value:
        return True
    plain = isinstance(given, int | float | str) and isinstance(value, int | float | str)
    return plain and given == value


def _parameters_of(original: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """All parameters; raises OperatorError where there are others than plain ones."""
    try:
        found = list(inspect.signature(original).parameters.values())
    except (TypeError, ValueError) as error:
        raise OperatorError(f"its signature is not known: {error}", where=name) from None
    odd = [item.name for item in found if item.kind not in (*POSITIONAL, inspect.Parameter.KEYWORD_ONLY)]
    if odd:
        raise OperatorError(f"takes any number of arguments ({', '.join(odd)}): it cannot be replaced", where=name)
    return found
