"""Operators against what they stand for: the upstream package's own function, called through the drop-in, on every
workload; and the definition's reference, called directly.

A row for each (kernel, workload, what it is compared with). Both sides get the same values in memory of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from hone.core.csv_table import Row
from hone.judge.child.models import flatten
from hone.judge.device.cuda.checks import DeviceTally
from hone.operators.binding import Binding
from hone.operators.contract import OperatorError
from hone.operators.dropin import Counts, original_of, stand_in
from hone.operators.operator import Operator
from hone.operators.values import ReferenceCalls, copied, written
from hone.records import Tolerance, Workload
from hone.sources.extraction.replacement import CompiledFunction, Replacement

COLUMNS = (
    "kernel", "kernel_set", "solution", "workload", "dtype", "held_out", "against", "max_abs_error", "agrees", "detail",
)  # fmt: skip
"""`against`: a dotted name, or `reference`. `agrees` is empty where there was nothing to compare with."""
REFERENCE = "reference"
SEED = 20250905
NEVER = 77
"""Stands in outputs before a call: what is never written is then no agreement."""

Results = Sequence[torch.Tensor]
Function = Callable[..., Any]


def check(
    operator: Operator,
    workloads: Sequence[Workload],
    kernel_set: str,
    *,
    compiled: Mapping[str, Function | None] | None = None,
    seed: int = SEED,
) -> Iterator[Row]:
    """Rows of one operator: for each workload against the reference, then against each function it can replace.

    `compiled`: further functions by label, whose parameters have the names of the definition; None where there is none.
    """
    for workload in workloads:
        operator = operator.at(workload)
        bindings, absent = _bindings(operator)
        for label, function in (compiled or {}).items():
            if function is None:
                absent[label] = "the library has no such function"
                continue
            bindings[label] = Binding(operator, Replacement(functions=(label,)), function, label), function
        row: dict[str, Any] = {
            "kernel": operator.definition.name, "kernel_set": kernel_set, "solution": operator.solution.id[:12],
            "workload": workload.name, "dtype": workload.dtype, "held_out": workload.held_out,
        }  # fmt: skip
        calls = ReferenceCalls(operator.definition, workload, operator.device_type)
        values = calls.values(seed)
        got = _direct(operator, values)
        yield {**row, "against": REFERENCE, **compare(calls.results(values), got, workload.tolerance)}
        for name, (binding, original) in bindings.items():
            yield {**row, "against": name, **_against(operator, binding, original, values, workload.tolerance)}
        yield from ({**row, "against": name, "detail": reason} for name, reason in absent.items())


def compiled_function(namespace: str, function: CompiledFunction) -> tuple[str, Function | None]:
    """Label and callable of a package's own function, registered in a namespace of `torch.ops` by a loaded library.

    None where the library does not register it: a library need not have the functions of all entries.
    """
    label = f"{namespace}.{function.name}"
    operator = getattr(getattr(torch.ops, namespace), function.name, None)
    if operator is None:
        return label, None
    names = [word for word in function.arguments if isinstance(word, str)]

    def call(**given: Any) -> Any:
        return operator(*(given[word] if isinstance(word, str) else word for word in function.arguments))

    kind = inspect.Parameter.KEYWORD_ONLY
    call.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return label, call


def disagreements(rows: Iterable[Row]) -> list[str]:
    """One line for each row that does not agree; empty when all compared rows do."""
    return [
        f"{row['kernel']} ({row['kernel_set']}) on {row['workload']} against {row['against']}: {row['detail']}"
        for row in rows
        if row.get("agrees") is False
    ]


def compare(expected: Results, got: Results, tolerance: Tolerance) -> dict[str, Any]:
    """`max_abs_error`, `agrees` and `detail`: every result within |got - expected| <= atol + rtol * |expected|."""
    shapes = [[(str(tensor.dtype)[6:], tuple(tensor.shape)) for tensor in side] for side in (got, expected)]
    if shapes[0] != shapes[1]:
        return {"agrees": False, "detail": f"results are {shapes[0]}, expected {shapes[1]}"}
    tally = DeviceTally()
    for index, (want, have) in enumerate(zip(expected, got, strict=True)):
        tally.add(f"result {index}", want, have, atol=tolerance.atol, rtol=tolerance.rtol)
    detail = tally.sentence() if tally.wrong else ""
    return {"max_abs_error": tally.max_abs_error, "agrees": not tally.wrong, "detail": detail}


def _direct(operator: Operator, values: Sequence[Any]) -> Results:
    mine = copied(values)
    returned = operator(*mine)
    return [*written(operator.contract, mine), *flatten(returned)]


def _against(
    operator: Operator, binding: Binding, original: Function, values: Sequence[Any], tolerance: Tolerance
) -> Mapping[str, Any]:
    counts = Counts()
    try:
        expected = _named(operator, binding, original, values)
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:  # upstream does not take this workload
        return {"detail": f"the function refuses the call: {str(error).strip().splitlines()[0][:200]}"}
    got = _named(operator, binding, stand_in(binding, original, counts), values)
    if counts.fallbacks:
        return {"agrees": False, "detail": f"the kernel does not take the call: {next(iter(counts.fallbacks))}"}
    return compare(expected, got, tolerance)


def _named(operator: Operator, binding: Binding, function: Function, values: Sequence[Any]) -> Results:
    """Results of a function with the upstream signature, on copies of the values."""
    mine = copied(values)
    buffers = [buffer.fill_(NEVER) for buffer in operator.empty_outputs(mine)]
    named = binding.named(mine, buffers)
    returned = function(**named)
    asked = any(value is buffer for value in named.values() for buffer in buffers)
    return [*written(operator.contract, mine), *(buffers if asked else flatten(returned))]


def _bindings(operator: Operator) -> tuple[dict[str, tuple[Binding, Function]], dict[str, str]]:
    """Dotted names that can be replaced, one for each function, and why the others are not there."""
    found: dict[str, tuple[Binding, Function]] = {}
    absent: dict[str, str] = {}
    for replacement in operator.replaces:
        for name in replacement.functions:
            try:
                original = original_of(name)
            except OperatorError as error:
                absent[name] = error.problem
                continue
            if not any(original is known for _, known in found.values()):
                found[name] = Binding(operator, replacement, original, name), original
    return found, absent
