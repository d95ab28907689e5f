"""What judging one workload takes: layouts of the arenas, arguments of the launcher, memory."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from hone.judge.environment import available_bytes
from hone.judge.layout import FLOATING, Layout
from hone.judge.verdict import Verdict
from hone.records import Argument, Definition, Protocol, Status, Workload

GIB = 1 << 30
SHARED_INPUT_BYTES = 256 << 20
"""Inputs larger than this, and than every cache, are not copied for the reference: it works on the pristine ones."""


@dataclass(frozen=True)
class Plan:
    """Everything about a (definition, workload) that does not depend on the solution."""

    definition: Definition
    workload: Workload
    inputs: Layout
    parameters: Layout
    outputs: Layout
    shared_inputs: bool
    """The reference's inputs are the pristine ones."""

    @property
    def order(self) -> list[str]:
        """Names of forward's arguments."""
        return [argument.name for argument in self.definition.inputs]

    @property
    def arena_bytes(self) -> int:
        """Shared memory of reference and solution together."""
        copies = 2 if self.shared_inputs else 3
        return copies * self.inputs.nbytes + 2 * (self.parameters.nbytes + self.outputs.nbytes)

    @property
    def need_bytes(self) -> int:
        """The least that one forward needs: inputs, parameters, outputs, and the outputs' copy in the arena."""
        return self.inputs.tensor_bytes + self.parameters.tensor_bytes + 2 * self.outputs.tensor_bytes

    def native_signature(self) -> list[dict[str, Any]]:
        """Arguments of the launcher as the native runner wants them."""
        return native_signature(self.definition)


def native_signature(definition: Definition) -> list[dict[str, Any]]:
    """Arguments of a launcher, see `hone.launcher`: a name, and `dtype` of a number or `value` of an axis."""
    arguments = (*definition.inputs, *definition.parameters, *definition.outputs)
    signature: list[dict[str, Any]] = [
        {"name": item.name, "dtype": item.dtype} if item.kind == "scalar" else {"name": item.name} for item in arguments
    ]
    return signature + [{"name": axis, "value": size} for axis, size in definition.axes.items()]


def make_plan(definition: Definition, workload: Workload, protocol: Protocol, held_bytes: int = 0) -> Plan:
    """Raises Verdict NOT_JUDGED when this machine, the limits or the judge itself do not allow the workload.

    `held_bytes` is shared memory in use that will be given back before.
    """
    check_packages(definition)
    if workload.axes != definition.axes:
        raise Verdict(Status.NOT_JUDGED, "sizes other than the reference's own cannot be judged yet")
    inputs, parameters, outputs = layouts_of(definition, workload.dtype)
    plan = Plan(definition, workload, inputs, parameters, outputs, inputs.tensor_bytes > SHARED_INPUT_BYTES)
    _check_memory(plan, protocol, held_bytes)
    return plan


def check_packages(definition: Definition) -> None:
    """Raises Verdict NOT_JUDGED when the reference needs a package that is not installed."""
    missing = [name for name in definition.requires if importlib.util.find_spec(name) is None]
    if missing:
        raise Verdict(Status.NOT_JUDGED, f"the reference needs the package '{missing[0]}', which is not installed")


def layouts_of(definition: Definition, dtype: str) -> tuple[Layout, Layout, Layout]:
    """Of inputs, parameters and outputs at the definition's sizes; raises Verdict NOT_JUDGED for other data types."""
    try:
        inputs, parameters, outputs = (
            _layout(definition, arguments, dtype)
            for arguments in (definition.inputs, definition.parameters, definition.outputs)
        )
    except KeyError as error:
        raise Verdict(Status.NOT_JUDGED, f"data type {error.args[0]} is not supported by the judge") from None
    return inputs, parameters, outputs


def _layout(definition: Definition, arguments: tuple[Argument, ...], dtype: str) -> Layout:
    return Layout.of(
        (item.name, dtype if item.dtype in FLOATING else item.dtype, definition.shape_of(item))
        for item in arguments
        if item.kind == "tensor"
    )


def _check_memory(plan: Plan, protocol: Protocol, held_bytes: int) -> None:
    limit = protocol.memory_limit_gib
    if plan.need_bytes > limit * GIB:
        detail = f"inputs, parameters and outputs need {plan.need_bytes / GIB:.1f} GiB, the limit is {limit:g} GiB"
        raise Verdict(Status.NOT_JUDGED, detail)
    total, available = plan.arena_bytes + 2 * plan.outputs.tensor_bytes, available_bytes() + held_bytes
    if total > available:
        detail = f"judging needs {total / GIB:.1f} GiB, this machine has {available / GIB:.1f} GiB free"
        raise Verdict(Status.NOT_JUDGED, detail)
