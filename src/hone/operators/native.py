"""Launchers of a shared object, called by ctypes on PyTorch's current stream."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from hone.judge.child.cpu.native import SCALARS
from hone.launcher import entry_point
from hone.operators.contract import Contract, OperatorError
from hone.records import Language

ALIGNMENT_BYTES = 16
"""What the judge's buffers have at least, so what a kernel may rely on: vector loads need it."""


class NativeLibrary:
    """A solution's shared object, in this process, with one launcher for each data type.

    The code runs unconfined: load only what the judge has passed. Raises OperatorError when it cannot be loaded.
    """

    def __init__(self, contract: Contract, language: Language, artifact: Path) -> None:
        self._contract = contract
        self._device = "cuda" if language is Language.CUDA else "cpu"
        self._artifact = artifact
        try:
            self._library = ctypes.CDLL(str(artifact.resolve()))
        except OSError as error:
            remedy = "build it again on this machine"
            raise OperatorError(f"the kernel cannot be loaded: {error}", where=str(artifact), remedy=remedy) from None
        self._launchers: dict[str, Callable[..., Any]] = {}

    @property
    def device_type(self) -> str:
        """`cuda` or `cpu`: where its tensors must be."""
        return self._device

    def launch(
        self, values: Sequence[Any], outputs: Sequence[Any], sizes: Mapping[str, int], dtype: str, device: Any
    ) -> None:
        """One call; nothing is launched where a call would write nothing. Raises OperatorError.

        `values` for the contract's arguments, `outputs` buffers that fit; both have been checked against the contract.
        """
        arguments = self._contract.arguments
        written = [value for item, value in zip(arguments, values, strict=True) if item.in_place]
        if not any(math.prod(tensor.shape) for tensor in (*written, *outputs)):
            return
        tensors = [value for item, value in zip(arguments, values, strict=True) if item.kind == "tensor"]
        if any(tensor.data_ptr() % ALIGNMENT_BYTES for tensor in (*tensors, *outputs)):
            raise OperatorError(f"a tensor does not begin at a multiple of {ALIGNMENT_BYTES} bytes", where=self._name)
        passed = [
            value.data_ptr() if item.kind == "tensor" else value for item, value in zip(arguments, values, strict=True)
        ]
        passed += [output.data_ptr() for output in outputs]
        launcher = self._launcher(dtype)
        with on_device(device):
            launcher(*passed, *sizes.values(), *self._stream(device))
            self._check_launch()

    def _stream(self, device: Any) -> tuple[int, ...]:
        """A CUDA launcher takes a stream also where an emulator stands in for the GPU."""
        return stream_of(device) or ((0,) if self._device == "cuda" else ())

    @property
    def _name(self) -> str:
        return self._contract.definition.name

    def _launcher(self, dtype: str) -> Callable[..., Any]:
        if dtype not in self._launchers:
            name = entry_point(self._contract.definition, dtype)
            try:
                found = getattr(self._library, name)
            except AttributeError:
                raise OperatorError(f"no function {name} with C linkage", where=str(self._artifact)) from None
            found.restype = None
            found.argtypes = self._argument_types()
            self._launchers[dtype] = found
        return self._launchers[dtype]

    def _argument_types(self) -> list[Any]:
        definition = self._contract.definition
        types = [ctypes.c_void_p if item.kind == "tensor" else SCALARS[item.dtype] for item in self._contract.arguments]
        types += [ctypes.c_void_p] * len(definition.outputs) + [ctypes.c_int64] * len(definition.axes)
        return types + ([ctypes.c_void_p] if self._device == "cuda" else [])

    def _check_launch(self) -> None:
        """Raise what the object's own CUDA runtime holds against the launch; it does not wait for the kernel."""
        if self._device != "cuda" or not (code := int(self._library.hone_last_error())):
            return
        self._library.hone_error_text.restype = ctypes.c_char_p
        text = (self._library.hone_error_text(code) or b"").decode("utf-8", "replace")
        raise OperatorError(f"the launch failed: {text}", where=self._name)


def stream_of(device: Any) -> tuple[int, ...]:
    """The last argument of a launcher: the current stream's handle on a GPU, nothing on a CPU."""
    if device.type != "cuda":
        return ()
    import torch

    return (int(torch.cuda.current_stream(device).cuda_stream),)


def on_device(device: Any) -> AbstractContextManager[Any]:
    """Makes a GPU the current one, as a launch needs it."""
    if device.type != "cuda":
        return nullcontext()
    import torch

    return torch.cuda.device(device)
