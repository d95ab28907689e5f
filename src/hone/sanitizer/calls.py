"""Plain calls of a kernel's launcher on a workload's inputs, in this process and without any confinement."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import torch

from hone.core.modules import load_module
from hone.judge.child.models import cast_inputs, flatten, seed_all, set_sizes
from hone.launcher import entry_point
from hone.records import Definition, Workload

SCALARS: dict[str, Any] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "int64": ctypes.c_int64, "int32": ctypes.c_int32,
    "bool": ctypes.c_bool,
}  # fmt: skip


class WorkloadCalls:
    """One workload: its inputs, a launcher called with them, and what the reference makes of them."""

    def __init__(self, definition: Definition, workload: Workload, device: str) -> None:
        """Make the inputs with the reference's `get_inputs` at the workload's sizes."""
        axes = {axis: workload.axes[axis] for axis in definition.axes}  # in the launcher's order
        self.definition = definition.model_copy(update={"axes": axes})
        self.workload = workload
        module = load_module("hone_watched_reference", definition.reference)
        set_sizes(module, workload.axes)
        seed_all(workload.seed)
        names = [item.name for item in definition.inputs]
        fixed = [item.name for item in definition.inputs if item.fixed_dtype]
        with torch.device(device):
            values = module.get_inputs()
            self._model = module.Model(*module.get_init_inputs())
        values = cast_inputs(values, {"arguments": names, "fixed": fixed, "dtype": workload.dtype})
        self.values: dict[str, Any] = dict(zip(names, values, strict=True))
        self._device = device

    def copy(self) -> dict[str, Any]:
        """Arguments of one call by name: copies of the inputs, outputs full of NaN, or of -1 where they are whole."""
        found = {name: item.clone() if isinstance(item, torch.Tensor) else item for name, item in self.values.items()}
        for item in self.definition.outputs:
            shape, dtype = self.definition.shape_of(item), getattr(torch, item.dtype_at(self.workload.dtype))
            found[item.name] = torch.empty(shape, dtype=dtype, device=self._device)
            found[item.name].reshape(-1).view(torch.uint8).fill_(0xFF)
        return found

    def launch(self, library: ctypes.CDLL, arguments: Mapping[str, Any], stream: int | None) -> None:
        """Call the launcher of the workload's type; a CUDA launcher takes the stream, too."""
        given: list[Any] = []
        for item in (*self.definition.inputs, *self.definition.outputs):
            value = arguments[item.name]
            given.append(ctypes.c_void_p(value.data_ptr()) if item.kind == "tensor" else SCALARS[item.dtype](value))
        given += [ctypes.c_int64(size) for size in self.definition.axes.values()]
        if stream is not None:
            given.append(ctypes.c_void_p(stream))
        function = library[entry_point(self.definition, self.workload.dtype)]
        function.restype = None
        function(*given)

    def results(self, arguments: Mapping[str, Any]) -> list[torch.Tensor]:
        """The outputs and what was written in place, of one call."""
        names = [item.name for item in self.definition.outputs]
        names += [item.name for item in self.definition.inputs if item.in_place]
        return [arguments[name] for name in names]

    def exact(self) -> list[torch.Tensor]:
        """The results of the reference in float64."""
        wide = {
            name: item.double() if isinstance(item, torch.Tensor) and item.is_floating_point() else item
            for name, item in self.copy().items()
        }
        with torch.no_grad():
            returned = flatten(self._model(*(wide[item.name] for item in self.definition.inputs)))
        return [*returned, *(wide[item.name] for item in self.definition.inputs if item.in_place)]
