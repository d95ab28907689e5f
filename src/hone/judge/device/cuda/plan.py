"""What judging one workload at given sizes takes on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.judge.device.cuda.sets import Region, set_count
from hone.judge.plan import (
    GIB,
    check_packages,
    in_place_slots,
    layouts_of,
    native_signature,
    other_sizes,
    reference_message,
    sized_definition,
)
from hone.judge.verdict import Verdict
from hone.records import Definition, Status, Workload
from hone.records.layout import Layout, Slot

MEMORY_SHARE = 0.5
"""Of the GPU's free memory that the sets may take; results, copies and the reference's own buffers need the rest."""


@dataclass(frozen=True)
class DevicePlan:
    """Everything about a (definition, workload, sizes) that does not depend on the solution."""

    definition: Definition
    """With the sizes in its axes."""
    workload: Workload
    sizes: Mapping[str, int]
    """The axes that differ from the reference's own constants."""
    inputs: Layout
    parameters: Layout
    outputs: Layout
    held_out: bool = False
    """These are further sizes of the definition's own, at which a solution is not timed."""

    @property
    def results(self) -> list[Slot]:
        """All that is compared: the outputs, then the inputs that are written in place."""
        return [*self.outputs.slots, *in_place_slots(self.definition, self.inputs)]

    @property
    def read_bytes(self) -> int:
        """Inputs and parameters once each, in the workload's data type."""
        return self.inputs.tensor_bytes + self.parameters.tensor_bytes

    @property
    def written_bytes(self) -> int:
        """All results once each; what is written in place is read too."""
        return sum(slot.nbytes for slot in self.results)

    @property
    def compulsory_bytes(self) -> int:
        """The least that any implementation moves."""
        return self.read_bytes + self.written_bytes

    @property
    def needed_bytes(self) -> int:
        """One set, its expected results and a copy of each."""
        return 3 * self.inputs.tensor_bytes + 2 * self.parameters.tensor_bytes + 3 * self.outputs.tensor_bytes

    def regions(self, free_bytes: int) -> dict[str, Region]:
        """The shared memory, for a GPU with so much free memory; held-out sizes are not timed and get one set."""
        set_bytes = 2 * self.inputs.nbytes + 3 * self.outputs.nbytes
        count = 1 if self.held_out else set_count(set_bytes, self.compulsory_bytes, int(MEMORY_SHARE * free_bytes))
        return {
            "inputs": Region(self.inputs, count),
            "outputs": Region(self.outputs, count),
            "parameters": Region(self.parameters, 1),
            "gate": Region(Layout.of([("gate", "int32", (1024,))]), 1),
        }

    def reference_message(self) -> dict[str, Any]:
        """What a process needs to build the reference's model and its inputs."""
        return reference_message(self.definition, self.workload, self.sizes)

    def native_signature(self) -> list[dict[str, Any]]:
        """Arguments of the launcher as the native runner wants them."""
        return native_signature(self.definition)


def make_device_plan(definition: Definition, workload: Workload, held_out: Mapping[str, int]) -> DevicePlan:
    """Raises Verdict NOT_JUDGED when the reference lacks a package, a constant for the sizes or a data type.

    `held_out`: sizes of the definition's own that take the place of the workload's; empty for the workload itself.
    """
    check_packages(definition)
    sizes = {**other_sizes(definition, workload), **held_out}
    sized = sized_definition(definition, workload)
    sized = sized.model_copy(update={"axes": {**sized.axes, **held_out}})
    return DevicePlan(sized, workload, sizes, *layouts_of(sized, workload.dtype), held_out=bool(held_out))


def check_memory(plan: DevicePlan, free_bytes: int) -> None:
    """Raises Verdict NOT_JUDGED when one set, its expected results and a copy of each do not fit on the GPU."""
    if plan.needed_bytes > free_bytes:
        detail = f"judging needs {plan.needed_bytes / GIB:.1f} GiB of GPU memory, {free_bytes / GIB:.1f} GiB are free"
        raise Verdict(Status.NOT_JUDGED, detail)
