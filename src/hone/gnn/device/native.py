"""The kernels' entry points: structures as `cuda/*.cuh` have them, and calls that put work on the current stream."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import Structure, c_double, c_float, c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hone.core.errors import MachineError

if TYPE_CHECKING:
    from torch import Tensor


class GraphView(Structure):
    """`Graph`: indptr int64, indices int32."""

    _fields_ = (("indptr", c_void_p), ("indices", c_void_p))


class MapView(Structure):
    """`Map`: entries uint32, one for each node."""

    _fields_ = (("entries", c_void_p), ("slot_bits", c_int32))


class HopView(Structure):
    """`Hop`: one hop's part of a batch."""

    _fields_ = (
        ("fanout", c_int32), ("index", c_int32), ("first_slot", c_int32), ("max_dst", c_int32), ("max_src", c_int32),
        ("neighbours", c_void_p), ("degrees", c_void_p), ("sizes", c_void_p),
    )  # fmt: skip


class SpreadRowsView(Structure):
    """`SpreadRows`: where features in several matrices lie."""

    _fields_ = (("bases", c_void_p), ("places", c_void_p), ("bits", c_uint32))


class DropoutView(Structure):
    """`Dropout`; a scale of 0 lets a state through as it is."""

    _fields_ = (("key", c_void_p), ("scale", c_float), ("threshold", c_uint32))


class PlateauView(Structure):
    """`Plateau`; a factor of 0 leaves the learning rate as it is."""

    _fields_ = (
        ("best", c_void_p), ("bad_steps", c_void_p), ("factor", c_double), ("patience", c_int64),
        ("threshold", c_double), ("least_change", c_double),
    )  # fmt: skip


class ColumnsView(Structure):
    """`Columns`: float32, one for each column."""

    _fields_ = (("mean", c_void_p), ("scale", c_void_p), ("weight", c_void_p), ("bias", c_void_p))


class RunningView(Structure):
    """`Running`: mean and variance float32, one for each column, and batches int64."""

    _fields_ = (("mean", c_void_p), ("variance", c_void_p), ("batches", c_void_p), ("momentum", c_float))


class ActivationView(Structure):
    """`Activation`: a dropout's scale of 0 is none; the slope is leaky ReLU's below zero."""

    _fields_ = (("dropout", DropoutView), ("site", c_uint64), ("slope", c_float))


P = c_void_p
SIGNATURES: dict[str, list[Any]] = {
    "begin_batch": [P, MapView, P, P, P, P, P, P, P, P, c_int64, c_uint64, P, c_int],
    "draw": [P, GraphView, MapView, P, HopView, c_int],
    "relabel": [P, MapView, HopView, P, P, P, P, P, P, P, P, c_int],
    "end_batch": [P, P, P],
    "mean_of_features": [HopView, P, P, c_int, c_int, P],
    "mean_of_spread_features": [HopView, P, SpreadRowsView, c_int, c_int, P],
    "mean_of_states": [HopView, P, c_int, DropoutView, P, P],
    "gradient_of_states": [HopView, P, P, P, P, P, c_int, DropoutView, P],
    "gradient_of_weights": [HopView, P, c_int, P, P, c_int, DropoutView, P, P, P],
    "loss": [P, P, P, c_int, c_int, c_int, P, P, P],
    "sum_losses": [P, c_int, P],
    "note_loss": [P, P, P, P, P, PlateauView],
    "adam": [c_int64, P, P, P, P, P, P, P, c_float, c_float, c_float, c_float],
    "gather_features": [P, P, P, c_int, c_int, c_int, P],
    "gather_spread_features": [P, P, SpreadRowsView, c_int, c_int, c_int, P],
    "sum_of_neighbours": [HopView, P, P, c_int, c_int, P],
    "sum_of_readers": [HopView, P, P, P, P, c_int, c_int, P],
    "sum_of_dropped": [HopView, P, c_int, c_int, DropoutView, c_uint64, P],
    "gradient_of_dropped": [HopView, P, P, P, P, c_int, c_int, DropoutView, c_uint64, P],
    "products_of_slots": [HopView, P, P, c_int, c_int, P],
    "slots_of_sources": [HopView, P, P],
    "sum_of_slots": [HopView, P, P, P, P],
    "drop": [P, c_int, c_int, c_int, DropoutView, c_uint64, P],
    "moments": [P, P, c_int, c_int, c_int, P, P],
    "join_moments": [P, P, P, c_int, c_int, c_float, RunningView, P, P, P],
    "normalise": [P, P, c_int, c_int, c_int, ColumnsView, ActivationView, P],
    "gradient_moments": [P, P, P, c_int, c_int, ColumnsView, ActivationView, c_int, P, P],
    "gradient_of_normalised": [P, P, P, c_int, c_int, c_int, ColumnsView, ActivationView, P, P, P],
}
"""Entry point without its prefix -> arguments without the stream."""


class Library:
    """The shared object; `call` hands over tensors by their address."""

    def __init__(self, path: Path) -> None:
        """Raises MachineError when it cannot be loaded."""
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError as error:
            raise MachineError(
                f"cannot be loaded: {error}", where=str(path), remedy="build it on this machine"
            ) from None
        self._functions: dict[str, Any] = {}
        for name, arguments in SIGNATURES.items():
            function = getattr(loaded, f"hone_{name}")
            function.argtypes, function.restype = [*arguments, c_void_p], None
            self._functions[name] = function
        self.weight_parts: Callable[[int, int], int] = loaded.hone_weight_parts
        """Inputs and width -> parts that `gradient_of_weights` has for them; 0: this GPU has no such kernel."""
        self._last_error = loaded.hone_last_error  # every build of CUDA has it
        self.max_fanout = int(loaded.hone_max_fanout())
        self.slots_per_block = int(loaded.hone_slots_per_block())

    def call(self, name: str, *arguments: Any) -> None:
        """Put one entry point's work on the current stream of the current device.

        Raises MachineError when CUDA refuses it: PyTorch would not see that, it has another copy of the runtime.
        """
        stream = torch.cuda.current_stream().cuda_stream if torch.cuda.is_available() else None
        self._functions[name](*map(_passed, arguments), stream)
        if code := self._last_error():
            remedy = "train with systems: [pipelined], and report it with this machine's GPU and driver"
            raise MachineError(f"CUDA refuses the kernel {name}: error {code}", remedy=remedy)


def address(tensor: Tensor) -> int:
    """Of its first element."""
    return tensor.data_ptr()


def _passed(argument: Any) -> Any:
    return argument.data_ptr() if isinstance(argument, torch.Tensor) else argument
