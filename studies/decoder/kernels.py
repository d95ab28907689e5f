"""Operators in the places of a decoder layer's exchangeable kernels, and what these calls look like."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hone.operators import Operator, OperatorError
from hone.records import Definition
from studies.decoder.layer import EPSILON, DecoderLayer, LayerKernels, torch_kernels

PLACES = {
    "add_norm": ("fused_add_rmsnorm", "fused_add_rms_norm"),
    "rotate": ("rotary_embedding",),
    "merge": ("merge_attn_states", "merge_state"),
    "activation": ("silu_and_mul",),
}
"""Place in the layer -> beginnings of the titles of definitions that can stand there."""
Observer = Callable[[str, Sequence[Any]], None]
LOGARITHMS = (1.0, math.log2(math.e))
"""A kernel's log-sum-exp over the natural one: natural, or to base 2."""


@dataclass
class PlaceCalls:
    """The calls of one place within a layer."""

    values: list[Any]
    """Arguments of the first one."""
    count: int


def place_of(title: str) -> str | None:
    """Where a definition's kernel can stand; None where it cannot."""
    found = (place for place, starts in PLACES.items() if title.lower().startswith(starts))
    return next(found, None)


def place_at(definition: Definition, dtype: str) -> str | None:
    """The same in a layer of a data type, which the kernel has to take."""
    return place_of(definition.title) if dtype in (definition.dtypes or ("float32",)) else None


def by_place(operators: Iterable[Operator], dtype: str) -> dict[str, Operator]:
    """Those that can stand in a layer of a data type; of several in one place the first."""
    found: dict[str, Operator] = {}
    for operator in operators:
        if place := place_at(operator.definition, dtype):
            found.setdefault(place, operator)
    return found


def operator_kernels(operators: Mapping[str, Operator], observe: Observer | None = None) -> LayerKernels:
    """Kernels by operators, and by PyTorch in the places that have none; `observe` is told of each operator's call."""
    seen: Observer = observe or (lambda *_: None)
    kernels = torch_kernels()
    for place, operator in operators.items():
        changed: dict[str, Any] = {
            place: _merger(operator, seen) if place == "merge" else _caller(place, operator, seen)
        }
        kernels = replace(kernels, **changed)
    return kernels


def record_calls(layer: DecoderLayer, operators: Mapping[str, Operator]) -> dict[str, PlaceCalls]:
    """Place -> the operators' calls in one forward, with the values that they really get."""
    found: dict[str, PlaceCalls] = {}

    def observe(place: str, values: Sequence[Any]) -> None:
        if place in found:
            found[place].count += 1
        else:
            copies = [value.clone() if isinstance(value, Tensor) else value for value in values]
            found[place] = PlaceCalls(copies, 1)

    layer.reset()
    layer.forward(operator_kernels(operators, observe))
    return found


def _caller(place: str, operator: Operator, observe: Observer) -> Callable[..., Any]:
    """Tensors in the definition's order; its numbers, if it has any, are the layer's epsilon."""

    def call(*tensors: Tensor) -> Any:
        values = _arguments(operator, tensors)
        observe(place, values)
        return operator(*values)

    return call


def _merger(operator: Operator, observe: Observer) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    scales: dict[torch.dtype, float] = {}

    def call(v_a: Tensor, s_a: Tensor, v_b: Tensor, s_b: Tensor) -> Tensor:
        if v_a.dtype not in scales:
            scales[v_a.dtype] = _logarithm(operator, v_a, s_a)
        if (scale := scales[v_a.dtype]) != 1.0:
            s_a, s_b = s_a * scale, s_b * scale
        values = _arguments(operator, (v_a, s_a, v_b, s_b))
        observe("merge", values)
        return _with_dimensions(operator(*values), v_a.dim())

    return call


def _logarithm(operator: Operator, values: Tensor, lse: Tensor) -> float:
    """Which logarithm the kernel's log-sum-exp is in: that of two zeros is the logarithm of two."""
    nothing, zero = torch.zeros_like(values[:1]), torch.zeros_like(lse[:1])
    merged = operator(*_arguments(operator, (nothing, zero, nothing, zero)))
    if isinstance(merged, Tensor):
        return 1.0
    found = float(_with_dimensions(merged, zero.dim()).flatten()[0]) / math.log(2.0)
    nearest = min(LOGARITHMS, key=lambda scale: abs(scale - found))
    if abs(nearest - found) > 1e-3:
        raise OperatorError(
            f"the log-sum-exp of two zeros is {found * math.log(2.0):.6g}", where=operator.qualified_name
        )
    return nearest


def _with_dimensions(results: Any, count: int) -> Tensor:
    tensors = [results] if isinstance(results, Tensor) else list(results)
    return next(tensor for tensor in tensors if tensor.dim() == count)


def _arguments(operator: Operator, tensors: Sequence[Tensor]) -> list[Any]:
    """The tensors in the order of the definition's arguments of as many dimensions; numbers are the epsilon."""
    left = list(tensors)
    values: list[Any] = []
    for item in operator.contract.arguments:
        if item.kind == "scalar":
            values.append(EPSILON)
            continue
        at = next((index for index, tensor in enumerate(left) if tensor.dim() == len(item.shape)), None)
        if at is None:
            problem = f"{item.name} ({', '.join(item.shape)}) has no counterpart in the layer"
            raise OperatorError(problem, where=operator.definition.name)
        values.append(left.pop(at))
    return values
