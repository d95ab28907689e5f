"""One opened sampler of the shared object: its life, its calls, their errors."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Sequence
from ctypes import c_int64, create_string_buffer
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.core.errors import HoneError
from hone.gnn.sampling.design import BOOKKEEPING, MAPS, Design
from hone.gnn.sampling.native import (
    MESSAGE_BYTES,
    InnerLoop,
    Library,
    NativeBatch,
    NativeConfig,
    NativeGraph,
    Outcome,
    PinHook,
)

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.graph import Graph

POLL_S = 0.25
"""How long a wait for a batch may keep an interrupt from the keyboard waiting."""
WORD = 1 << 64
CUDA_PORTABLE = 1
"""cudaHostRegisterPortable: locked for every device, as the thread that asks need not be the one that copies."""


class SamplerError(HoneError):
    """Seeds that are no nodes, a graph that cannot be sampled, memory that is not there, a batch nobody released."""


class Handle:
    """The C++ object. Its memory lives as long as this one, which whoever views that memory must keep."""

    def __init__(
        self,
        library: Library,
        graph: Graph,
        fanouts: Sequence[int],
        *,
        threads: int,
        slots: int,
        pin_memory: bool,
        design: Design,
        inner_loop: InnerLoop | None = None,
    ) -> None:
        self._library = library
        self._inner_loop = inner_loop  # the C++ side calls it
        self._graph = graph  # the C++ side reads its maps
        self._hook = _pin_hook() if pin_memory else PinHook()
        self._message = create_string_buffer(MESSAGE_BYTES)
        self._process = os.getpid()
        config = NativeConfig(
            _native_graph(graph), (c_int64 * len(fanouts))(*fanouts), len(fanouts), threads, slots,
            MAPS.index(design.map), BOOKKEEPING.index(design.bookkeeping), design.block, design.rows_ahead,
            design.fused, design.stream, self._hook, inner_loop.address if inner_loop else None,
        )  # fmt: skip
        self._address = library.open(config, self._message)
        if not self._address:
            raise self._error(str(graph.path))
        close = weakref.finalize(self, _close, library, self._address, self._process)
        close.atexit = False  # tensors may still look at the memory; the system takes it back

    def halt(self) -> None:
        """End the workers; what was given out stays valid."""
        if os.getpid() == self._process:  # a forked process has no workers to wait for
            self._library.halt(self._address)

    def start(self, batches: Sequence[Tensor], seed: int, epoch: int) -> None:
        """Let the workers prepare an epoch: batch i is around `batches[i]`, (n,) int64. Raises SamplerError."""
        offsets = np.array([0, *itertools.accumulate(map(len, batches))], dtype=np.int64)
        parts = [np.asarray(part, dtype=np.int64) for part in batches]
        seeds = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        ids = np.arange(len(batches), dtype=np.int64)
        places = [array.ctypes.data for array in (seeds, offsets, ids)]
        if self._library.start(self._address, seed % WORD, epoch, *places, len(batches), self._message):
            raise self._error("sampler")

    def stop(self) -> None:
        """End the epoch; waits for the batches that workers are at."""
        self._library.stop(self._address)

    def next(self) -> NativeBatch | None:
        """The next batch, in a slot that is held until `release`; absent at the end. Raises SamplerError."""
        found = NativeBatch()
        outcome = Outcome.TIMEOUT
        while outcome is Outcome.TIMEOUT:  # between two waits Python sees to signals
            outcome = Outcome(self._library.next(self._address, POLL_S, found, self._message))
        if outcome is Outcome.FAILED:
            raise self._error("sampler")
        if outcome is Outcome.ALL_HELD:
            remedy = "call a batch's release() when nobody reads it any more, or ask for more slots"
            raise SamplerError("every slot holds a batch that was not released", where="sampler", remedy=remedy)
        return found if outcome is Outcome.READY else None

    def sample(self, seeds: Tensor, seed: int, epoch: int, batch_index: int) -> NativeBatch:
        """One batch without features and labels, in memory that the next call overwrites. Raises SamplerError."""
        ids = np.ascontiguousarray(seeds, dtype=np.int64)
        found = NativeBatch()
        arguments = (seed % WORD, epoch, batch_index, ids.ctypes.data, len(ids))
        if self._library.sample(self._address, *arguments, found, self._message):
            raise self._error("sampler")
        return found

    def release(self, slot: int) -> None:
        """Give a slot back to the workers."""
        self._library.release(self._address, slot)

    def _error(self, where: str) -> SamplerError:
        return SamplerError(self._message.value.decode(), where=where)


def _close(library: Library, address: int, process: int) -> None:
    if os.getpid() == process:
        library.close(address)


def _native_graph(graph: Graph) -> NativeGraph:
    """Addresses of the graph's maps; raises SamplerError for arrays that the C++ side cannot read."""
    features = graph.features
    wanted = {"indptr": "int64", "indices": "int32", "labels": "int64", "features": features.dtype.name}
    for name, dtype in wanted.items():
        array = graph.array(name)
        if array.dtype.name != dtype or not array.flags.c_contiguous:
            raise SamplerError(f"{name} is not a contiguous array of {dtype}", where=str(graph.path))
    return NativeGraph(
        graph.indptr.ctypes.data, graph.indices.ctypes.data, len(graph.indptr) - 1, len(graph.indices),
        features.ctypes.data, features.shape[1] * features.dtype.itemsize, graph.labels.ctypes.data,
    )  # fmt: skip


def _pin_hook() -> Any:
    """A callback that page-locks memory for the current CUDA device; a worker calls it when a slot grows."""
    import torch

    runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
    device = torch.cuda.current_device()

    def pin(address: int, size_bytes: int, lock: int) -> int:
        with torch.cuda.device(device):  # a worker's own current device would be the first one
            if lock:
                return int(runtime.cudaHostRegister(address, size_bytes, CUDA_PORTABLE))
            return int(runtime.cudaHostUnregister(address))

    return PinHook(pin)
