"""What judging one workload takes: layouts of the arenas, arguments of the launcher, memory."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.judge.verdict import Verdict
from hone.machine.environment import available_bytes
from hone.records import Argument, Definition, Protocol, Status, Workload
from hone.records.layout import FLOAT8, Layout, Slot

GIB = 1 << 30
SHARED_INPUT_BYTES = 256 << 20
"""Inputs larger than this, and than every cache, are not copied for the reference: it works on the pristine ones."""


@dataclass(frozen=True)
class Plan:
    """Everything about a (definition, workload) that does not depend on the solution."""

    definition: Definition
    """With the workload's sizes in its axes."""
    workload: Workload
    sizes: Mapping[str, int]
    """The axes that differ from the reference's own constants."""
    inputs: Layout
    parameters: Layout
    outputs: Layout
    shared_inputs: bool
    """The reference's inputs are the pristine ones."""

    @property
    def in_place(self) -> list[Slot]:
        """The inputs that are results too."""
        return in_place_slots(self.definition, self.inputs)

    @property
    def results(self) -> list[Slot]:
        """All that is compared: the outputs, then the inputs that are written in place."""
        return [*self.outputs.slots, *self.in_place]

    @property
    def arena_bytes(self) -> int:
        """Shared memory of reference and solution together."""
        copies = 2 if self.shared_inputs else 3
        return copies * self.inputs.nbytes + 2 * (self.parameters.nbytes + self.outputs.nbytes)

    @property
    def need_bytes(self) -> int:
        """The least that one forward needs: inputs, parameters, outputs, and the outputs' copy in the arena."""
        return self.inputs.tensor_bytes + self.parameters.tensor_bytes + 2 * self.outputs.tensor_bytes

    def reference_message(self) -> dict[str, Any]:
        """What a process needs to build the reference's model and its inputs."""
        return reference_message(self.definition, self.workload, self.sizes)

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


def reference_message(definition: Definition, workload: Workload, sizes: Mapping[str, int]) -> dict[str, Any]:
    """What a process needs to build the reference's model and its inputs at other sizes."""
    return {
        "reference": definition.reference,
        "seed": workload.seed,
        "dtype": workload.dtype,
        "arguments": [argument.name for argument in definition.inputs],
        "fixed": [argument.name for argument in definition.inputs if argument.fixed_dtype],
        "sizes": dict(sizes),
    }


def in_place_slots(definition: Definition, inputs: Layout) -> list[Slot]:
    """Where the inputs lie that a solution writes to."""
    names = {argument.name for argument in definition.inputs if argument.in_place}
    return [slot for slot in inputs.slots if slot.name in names]


def make_plan(definition: Definition, workload: Workload, protocol: Protocol, held_bytes: int = 0) -> Plan:
    """Raises Verdict NOT_JUDGED when this machine, the limits or the judge itself do not allow the workload.

    `held_bytes` is shared memory in use that will be given back before.
    """
    check_packages(definition)
    sizes = other_sizes(definition, workload)
    sized = sized_definition(definition, workload)
    inputs, parameters, outputs = layouts_of(sized, workload.dtype)
    if eight_bits := [slot for slot in (*inputs.slots, *outputs.slots) if slot.dtype in FLOAT8]:
        raise Verdict(Status.NOT_JUDGED, f"data type {eight_bits[0].dtype} is not supported by the judge on a CPU")
    # What is written in place must be made anew for every run, so it cannot be shared.
    shared = inputs.tensor_bytes > SHARED_INPUT_BYTES and not in_place_slots(sized, inputs)
    plan = Plan(sized, workload, sizes, inputs, parameters, outputs, shared)
    _check_memory(plan, protocol, held_bytes)
    return plan


def other_sizes(definition: Definition, workload: Workload) -> dict[str, int]:
    """The workload's sizes that are not the definition's own, which its reference takes from its constants.

    Raises Verdict NOT_JUDGED when the axes are others, the reference has no such constant, or no launcher has the type.
    """
    if set(workload.axes) != set(definition.axes):
        detail = f"the workload's axes are {', '.join(workload.axes)}, the definition's {', '.join(definition.axes)}"
        raise Verdict(Status.NOT_JUDGED, detail)
    if definition.dtypes and workload.dtype not in definition.dtypes:
        detail = f"the workload is in {workload.dtype}, the definition has {', '.join(definition.dtypes)}"
        raise Verdict(Status.NOT_JUDGED, detail)
    sizes = {axis: workload.axes[axis] for axis, size in definition.axes.items() if size != workload.axes[axis]}
    fixed = [axis for axis in sizes if axis not in _constants(definition.reference)] if sizes else []
    if fixed:
        detail = f"the reference has no constant for {', '.join(fixed)}: it can be judged at its own sizes only"
        raise Verdict(Status.NOT_JUDGED, detail)
    return sizes


def _constants(reference: str) -> set[str]:
    """Names that the reference assigns at its top level, in lower case, as axes are."""
    try:
        body = ast.parse(reference).body
    except SyntaxError:  # the reference's process says more
        return set()
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return {part.id.lower() for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def sized_definition(definition: Definition, workload: Workload) -> Definition:
    """The definition at a workload's sizes. At other sizes than its own the number of operations is not known."""
    flops = definition.flops if workload.axes == definition.axes else 0
    axes = {axis: workload.axes[axis] for axis in definition.axes}  # the launcher has them in this order
    return definition.model_copy(update={"axes": axes, "flops": flops})


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
        (item.name, item.dtype_at(dtype), definition.shape_of(item)) for item in arguments if item.kind == "tensor"
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
