"""Workloads of definitions."""

from __future__ import annotations

from hone.records import Definition, Tolerance, Workload


def workload_of(definition: Definition, tolerance: Tolerance) -> Workload:
    """The problem as its authors gave it: its own sizes and input values, in float32."""
    return Workload(definition=definition.name, name="as_given", axes=definition.axes, tolerance=tolerance)
