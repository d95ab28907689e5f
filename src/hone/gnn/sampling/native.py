"""The shared object's functions and structures, as cpp/api.cpp declares them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_uint64, c_void_p
from enum import IntEnum
from pathlib import Path
from typing import Any

from hone.core.errors import MachineError
from hone.launcher import ENTRY_POINT

MAX_HOPS = 8
MESSAGE_BYTES = 256
PinHook = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_int)
"""(address, bytes, 1 to page-lock or 0 to unlock) -> 0 when that worked."""


class Outcome(IntEnum):
    """What came of asking for the next batch."""

    READY = 0
    END = 1
    TIMEOUT = 2
    FAILED = 3
    ALL_HELD = 4


class NativeGraph(ctypes.Structure):
    """Graph of cpp/batch.h."""

    _fields_ = (
        ("indptr", c_void_p), ("indices", c_void_p), ("num_nodes", c_int64), ("num_edges", c_int64),
        ("rows", c_void_p), ("row_bytes", c_int64), ("labels", c_void_p),
    )  # fmt: skip


class NativeConfig(ctypes.Structure):
    """HoneConfig of cpp/api.cpp."""

    _fields_ = (
        ("graph", NativeGraph), ("fanouts", POINTER(c_int64)), ("num_fanouts", c_int64), ("threads", c_int64),
        ("slots", c_int64), ("map", c_int64), ("chooser", c_int64), ("block", c_int64), ("rows_ahead", c_int64),
        ("fused", c_int64), ("stream", c_int64), ("pin", PinHook), ("draw", c_void_p),
    )  # fmt: skip


class NativeArray(ctypes.Structure):
    """HoneArray: where an array lies, and how many bytes are mapped there."""

    _fields_ = (("address", c_void_p), ("size_bytes", c_int64))
    address: int | None
    size_bytes: int


class NativeHop(ctypes.Structure):
    """HoneHop, the seeds' own neighbours first."""

    _fields_ = (
        ("indptr", NativeArray), ("indices", NativeArray),
        ("num_dst", c_int64), ("num_src", c_int64), ("num_edges", c_int64),
    )  # fmt: skip
    indptr: NativeArray
    indices: NativeArray
    num_dst: int
    num_src: int
    num_edges: int


class NativeBatch(ctypes.Structure):
    """HoneBatch."""

    _fields_ = (
        ("batch", c_int64), ("slot", c_int64), ("worker", c_int64), ("num_nodes", c_int64), ("num_seeds", c_int64),
        ("nodes", NativeArray), ("features", NativeArray), ("labels", NativeArray), ("hops", NativeHop * MAX_HOPS),
        ("began_s", c_double), ("sampled_s", c_double), ("ended_s", c_double), ("cpu_s", c_double),
    )  # fmt: skip
    batch: int
    slot: int
    worker: int
    num_nodes: int
    num_seeds: int
    nodes: NativeArray
    features: NativeArray
    labels: NativeArray
    hops: ctypes.Array[NativeHop]
    began_s: float
    sampled_s: float
    ended_s: float
    cpu_s: float


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "hone_sampler_config_bytes": (c_int64, []),
    "hone_sampler_batch_bytes": (c_int64, []),
    "hone_sampler_open": (c_void_p, [POINTER(NativeConfig), c_char_p]),
    "hone_sampler_halt": (None, [c_void_p]),
    "hone_sampler_close": (None, [c_void_p]),
    "hone_sampler_start": (c_int, [c_void_p, c_uint64, c_uint64, c_void_p, c_void_p, c_void_p, c_int64, c_char_p]),
    "hone_sampler_stop": (None, [c_void_p]),
    "hone_sampler_next": (c_int, [c_void_p, c_double, POINTER(NativeBatch), c_char_p]),
    "hone_sampler_release": (None, [c_void_p, c_int64]),
    "hone_sampler_sample": (
        c_int, [c_void_p, c_uint64, c_uint64, c_uint64, c_void_p, c_int64, POINTER(NativeBatch), c_char_p],
    ),
}  # fmt: skip
"""Name -> result and arguments. ctypes gives up the interpreter's lock for the time of each call."""


class InnerLoop:
    """A kernel in the place of the inner loop: a shared object with the launcher of `sample_neighbours`.

    Its code runs unconfined in this process: load only what the judge has passed. Raises MachineError.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._loaded = ctypes.CDLL(str(path.resolve()))
            self.address = ctypes.cast(getattr(self._loaded, ENTRY_POINT), c_void_p)
        except (OSError, AttributeError) as error:
            remedy = "build it on this machine from a solution of the definition sample_neighbours"
            raise MachineError(f"not a kernel that draws: {error}", where=str(path), remedy=remedy) from None


class Library:
    """The loaded shared object: `library.start(…)` calls `hone_sampler_start`. Raises MachineError."""

    def __init__(self, path: Path) -> None:
        remedy = "delete it and build the sampler again on this machine"
        try:
            loaded = ctypes.CDLL(str(path.resolve()))
            for name, (result, arguments) in FUNCTIONS.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise MachineError(f"not a sampler: {error}", where=str(path), remedy=remedy) from None
        self._loaded = loaded
        sizes = (self.config_bytes(), self.batch_bytes())
        if sizes != (ctypes.sizeof(NativeConfig), ctypes.sizeof(NativeBatch)):
            raise MachineError("the sampler is of another version of Hone", where=str(path), remedy=remedy)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._loaded, f"hone_sampler_{name}")
        return function
