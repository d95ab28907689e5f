"""SALIENT's own sampler, to compare with: the extension module `fast_sampler` of github.com/MITIBMxGraph/SALIENT.

It is built outside Hone (resources/build_fast_sampler.sh says how) and driven as its repository's driver does. Only the
wait differs: its `blocking_get_batch` spins with the interpreter's lock held, which takes a core from its own threads.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.core.errors import MachineError
from hone.gnn.sampling.measure import EpochTime
from hone.gnn.sampling.pages import in_pages
from hone.gnn.slots import slots_for

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from hone.gnn.graph import Graph
    from hone.gnn.seeds import Plan

MODULE = "fast_sampler"
POLL_S = 0.0005


class SalientSampler:
    """`fast_sampler` on the same graph; ids are int64 there, labels a column."""

    def __init__(
        self, module: Any, inputs: SalientInputs, fanouts: Sequence[int], threads: int, *, pin_memory: bool
    ) -> None:
        self._module = module
        self._inputs = inputs
        self._fanouts = list(fanouts)
        self._threads = threads
        self._pin = pin_memory

    def epoch(self, plan: Plan) -> EpochTime:
        """As Preparing."""
        start_s, cpu_s = time.perf_counter(), time.process_time()
        session = self._module.Session(self._threads, slots_for(self._threads), self._config(plan))
        nodes = edges = count = 0
        while count < session.num_total_batches:
            batch = session.try_get_batch()
            if batch is None:
                time.sleep(POLL_S)
                continue
            features, _, adjacencies, _ = batch
            nodes, count = nodes + len(features), count + 1
            edges += sum(len(column) for _, column, _, _ in adjacencies)
            del batch, features, adjacencies
        return EpochTime(time.perf_counter() - start_s, time.process_time() - cpu_s, count, nodes, edges)

    def close(self) -> None:
        """As Preparing: its threads belong to the module and end with the process."""

    def _config(self, plan: Plan) -> Any:
        config = self._module.Config()
        config.x, config.y = self._inputs.features, self._inputs.labels
        config.rowptr, config.col = self._inputs.indptr, self._inputs.indices
        config.idx, config.batch_size = plan.order, plan.batch_size
        config.sizes, config.skip_nonfull_batch, config.pin_memory = self._fanouts, False, self._pin
        return config


class SalientInputs:
    """The graph as `fast_sampler` wants it: 8 bytes for an edge; the rest is the graph's own memory."""

    def __init__(self, graph: Graph, *, large_pages: bool) -> None:
        """`large_pages`: for the ids, which are made here; the graph's own arrays are where they are."""
        ids = graph.indices.astype(np.int64)
        self.indices = _tensor(in_pages(ids, str(graph.path)) if large_pages else ids)
        self.indptr = _tensor(graph.indptr)
        self.features = _tensor(graph.features)
        self.labels = _tensor(graph.labels).unsqueeze(-1)


def load_fast_sampler(path: Path) -> Any:
    """Import the extension module; raises MachineError when it does not fit this Python and PyTorch."""
    import torch  # noqa: F401  (its libraries must be there first)

    try:
        spec = importlib.util.spec_from_file_location(MODULE, path)
        if spec is None or spec.loader is None:
            raise ImportError("not an extension module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        remedy = f"build it for Python {version} and this PyTorch with resources/build_fast_sampler.sh"
        raise MachineError(f"cannot load SALIENT's sampler: {error}", where=str(path), remedy=remedy) from None
    return module


def _tensor(array: NDArray[Any]) -> Tensor:
    """The same memory; torch warns of arrays that cannot be written to, although here nobody does."""
    import torch

    memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array  # type: ignore[attr-defined]
    signed = "int16" if array.dtype == np.uint16 else array.dtype.name  # the extension copies rows of signed types only
    dtype: torch.dtype = getattr(torch, signed)
    return torch.frombuffer(memory, dtype=dtype).view(array.shape)
