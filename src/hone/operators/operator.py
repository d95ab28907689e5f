"""A native solution as a registered PyTorch operator of the namespace `hone`.

The operator can be called like any other: eagerly, under `torch.compile` and while a CUDA graph is captured. For the
compiler, its fake form gives shapes and types, and its schema says what is written in place. For the graph, it launches
on the current stream and waits for nothing. It has no derivative.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hone.operators.contract import Contract, OperatorError
from hone.operators.native import NativeLibrary
from hone.records import Build, Definition, Solution, Workload, digest
from hone.sources.extraction.replacement import Replacement

NAMESPACE = "hone"
_registered: dict[str, Any] = {}
_lock = threading.Lock()


class Operator:
    """`hone::<title>_<digest>`, and where the definition has outputs `…_out`, which writes to buffers of the caller.

    Arguments: inputs in the definition's order, then parameters; results: its outputs. Raises OperatorError for
    tensors that the kernel does not take: other types, shapes that contradict each other, not contiguous, not on the
    kernel's device, not on a 16-byte boundary. Empty tensors launch nothing.
    """

    def __init__(
        self,
        definition: Definition,
        solution: Solution,
        artifact: Path,
        workloads: Iterable[Workload] = (),
        replaces: Sequence[Replacement] = (),
    ) -> None:
        """`workloads`: from their sizes the operator learns those axes that only outputs have."""
        if solution.definition != definition.name:
            raise OperatorError(f"the solution is for '{solution.definition}'", where=definition.name)
        self.definition = definition
        self.solution = solution
        self.replaces = tuple(replaces)
        self._artifact = artifact
        self.contract = Contract.of(definition, workloads)
        self._library = NativeLibrary(self.contract, solution.language, artifact)
        title = re.sub(r"\W", "_", definition.title, flags=re.ASCII).lower()
        self.name = f"{title}_{digest([solution.id, str(artifact.resolve()), self.contract.message()])[:12]}"
        self._call = self._register(self.name, out=False)
        self._call_out = self._register(f"{self.name}_out", out=True) if definition.outputs else None

    @classmethod
    def load(
        cls,
        definition: Definition,
        solution: Solution,
        build: Build,
        store: Path,
        workloads: Iterable[Workload] = (),
        replaces: Sequence[Replacement] = (),
    ) -> Operator:
        """The operator of a build in the store; raises OperatorError when the build has no shared object."""
        if build.artifact is None:
            remedy = "only `cuda` and `cpp` solutions that were built can become operators"
            raise OperatorError(f"there is no shared object: {build.status.value}", where=solution.id, remedy=remedy)
        return cls(definition, solution, store / build.artifact, workloads, replaces)

    def at(self, workload: Workload) -> Operator:
        """The same for a workload's sizes alone, where axes that only outputs have need not follow from the others."""
        axes = {axis: workload.axes[axis] for axis in self.definition.axes}
        definition = self.definition.model_copy(update={"axes": axes})
        return Operator(definition, self.solution, self._artifact, (), self.replaces)

    @property
    def qualified_name(self) -> str:
        """As PyTorch lists it."""
        return f"{NAMESPACE}::{self.name}"

    @property
    def device_type(self) -> str:
        """`cuda` or `cpu`."""
        return self._library.device_type

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Results as PyTorch gives them: nothing, a tensor, or a tuple of tensors."""
        return self._call(*values, **named)

    def out(self, *values: Any, **named: Any) -> None:
        """The same, with buffers for all outputs behind the other arguments; nothing is allocated."""
        if self._call_out is None:
            raise OperatorError("has no outputs, only arguments that are written in place", where=self.qualified_name)
        self._call_out(*values, **named)

    @property
    def overloads(self) -> tuple[Any, ...]:
        """PyTorch's operator objects, for `torch.library.opcheck`."""
        return (self._call,) if self._call_out is None else (self._call, self._call_out)

    def complaint(self, values: Sequence[Any], outputs: Sequence[Any] = ()) -> str:
        """Why the kernel does not take these arguments; empty when it does. Says nothing about alignment."""
        said = self.contract.complaint(values, outputs)
        if said:
            return said
        device = self._device(values)
        return "" if device.type == self.device_type else f"tensors are on {device}, the kernel runs on a {self._where}"

    def empty_outputs(self, values: Sequence[Any]) -> list[Any]:
        """Buffers for the outputs of a call, as `out` takes them."""
        return self._empty(values, self.contract.sizes(values))

    # ------------------------------------------------------------------------------------------- registration

    @property
    def _where(self) -> str:
        return {"cuda": "GPU", "cpu": "CPU"}[self.device_type]

    def _register(self, name: str, *, out: bool) -> Any:
        """Register once in a process; the same kernel loaded again is the same operator."""
        import torch

        with _lock:
            if name not in _registered:
                written = (*self.contract.written, *(self.contract.output_names if out else ()))
                declared = torch.library.custom_op(
                    f"{NAMESPACE}::{name}",
                    self._run_out if out else self._run,
                    mutates_args=written,
                    schema=self.contract.schema(out=out),
                )
                declared.register_fake(self._fake_out if out else self._fake)
                _registered[name] = getattr(getattr(torch.ops, NAMESPACE), name).default
            return _registered[name]

    def _run(self, *values: Any) -> Any:
        self._require(values, ())
        sizes = self.contract.sizes(values)
        outputs = self._empty(values, sizes)
        self._launch(values, outputs, sizes)
        return _results(outputs)

    def _run_out(self, *values: Any) -> None:
        count = len(self.contract.arguments)
        given, outputs = values[:count], values[count:]
        self._require(given, outputs)
        self._launch(given, outputs, self.contract.sizes(given))

    def _fake(self, *values: Any) -> Any:
        return _results(self._empty(values, self.contract.sizes(values)))

    def _fake_out(self, *_: Any) -> None:
        return None

    def _require(self, values: Sequence[Any], outputs: Sequence[Any]) -> None:
        if said := self.complaint(values, outputs):
            raise OperatorError(said, where=self.qualified_name)

    def _launch(self, values: Sequence[Any], outputs: Sequence[Any], sizes: dict[str, int]) -> None:
        self._library.launch(values, outputs, sizes, self.contract.dtype(values), self._device(values))

    def _empty(self, values: Sequence[Any], sizes: dict[str, Any]) -> list[Any]:
        import torch

        shapes = self.contract.output_shapes(sizes)
        dtypes = self.contract.output_dtypes(self.contract.dtype(values))
        device = self._device(values)
        return [
            torch.empty(shape, dtype=getattr(torch, dtype), device=device)
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]

    def _device(self, values: Sequence[Any]) -> Any:
        arguments = self.contract.arguments
        return next(value.device for item, value in zip(arguments, values, strict=True) if item.kind == "tensor")


def _results(outputs: Sequence[Any]) -> Any:
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
