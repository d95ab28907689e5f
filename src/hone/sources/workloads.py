"""Workloads of definitions: made from a definition alone, grouped, and how many bytes one moves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hone.records import Argument, Definition, Tolerance, Workload
from hone.records.layout import ITEM_BYTES


def workload_of(definition: Definition, tolerance: Tolerance) -> Workload:
    """The problem as its authors gave it: its own sizes and input values, in float32."""
    return Workload(definition=definition.name, name="as_given", axes=definition.axes, tolerance=tolerance)


def group(workloads: Iterable[Workload]) -> dict[str, list[Workload]]:
    """Definition -> its workloads, in the order given."""
    found: dict[str, list[Workload]] = {}
    for workload in workloads:
        found.setdefault(workload.definition, []).append(workload)
    return found


def visible(workloads: Iterable[Workload]) -> list[Workload]:
    """Those that whoever writes a solution may see."""
    return [workload for workload in workloads if not workload.held_out]


def spread(definition: Definition, workloads: Sequence[Workload], number: int | None) -> list[Workload]:
    """At most so many of a definition's workloads, evenly spaced in the order of the bytes that they move.

    The least and the most are among them, of one alone the middle; None: all. They stay in the order given.
    """
    if number is None or number >= len(workloads):
        return list(workloads)
    order = sorted(range(len(workloads)), key=lambda place: moved_bytes(definition, workloads[place]))
    last = len(order) - 1
    chosen = {order[last // 2]} if number == 1 else {order[step * last // (number - 1)] for step in range(number)}
    return [workloads[place] for place in sorted(chosen)]


def moved_bytes(definition: Definition, workload: Workload) -> int:
    """The least that any implementation moves: inputs, parameters, outputs, and again what is written in place."""

    def nbytes(argument: Argument) -> int:
        if argument.kind == "scalar":
            return 0
        return math.prod(workload.axes[axis] for axis in argument.shape) * ITEM_BYTES[argument.dtype_at(workload.dtype)]

    results = (*definition.outputs, *(argument for argument in definition.inputs if argument.in_place))
    return sum(map(nbytes, (*definition.inputs, *definition.parameters, *results)))
