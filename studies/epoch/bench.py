"""Epochs of one training on one graph, with other libraries and streams; the graph is brought to the GPU once."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hone.core.errors import MachineError
from hone.gnn.device.native import Library
from hone.gnn.device.operators import Operators
from hone.gnn.device.training import device_loop, first_plan, training_graph
from hone.gnn.distributed import Ranks
from hone.gnn.training_stage import model_for
from studies.epoch.space import priorities_at

if TYPE_CHECKING:
    from hone.gnn.device.memory import DeviceGraph
    from hone.gnn.graph import Graph
    from hone.gnn.job import TrainingJob
    from hone.tunables import Values


@dataclass(frozen=True)
class Epoch:
    """What training some batches several times gave."""

    batches: int
    """Of a repetition: whole launches, and no more than an epoch has."""
    us: float
    """A batch, the median over repetitions."""
    loss: float
    """A seed's, over the first repetition, which begins with the job's own parameters."""


@dataclass
class EpochBench:
    """Where loops are timed; nobody else may use the GPU."""

    job: TrainingJob
    graph: Graph
    device: torch.device
    build: Callable[[str], Path]
    """Source of a library -> its path."""
    arrays: DeviceGraph = field(init=False)

    def __post_init__(self) -> None:
        self.arrays = training_graph(self.job, self.graph, self.device, Ranks())

    def epoch(self, library: Path, values: Values, batches: int | None, repetitions: int) -> Epoch:
        """Train so many batches, or all; once more at the beginning, when graphs are captured."""
        plan = first_plan(self.job, self.graph, Ranks())
        plan = plan.first(self.job.max_batches or len(plan))
        model, kernels = model_for(self.job, self.graph), Library(library)
        _, loop, _ = device_loop(
            self.job, self.graph, model, self.arrays, Operators(kernels), kernels, Ranks(), priorities_at(values)
        )
        if batches is not None:  # whole groups: what is left over is launched kernel by kernel
            plan = plan.first(max(1, batches // loop.group) * loop.group)
        found = []
        with leaving(values["spare"], self.device):
            loss = loop.run(plan) / max(1, len(plan.order))
            for _ in range(repetitions):
                begun_s = time.perf_counter()
                loop.run(plan)
                found.append(1e6 * (time.perf_counter() - begun_s) / len(plan))
            loop.close()
        return Epoch(len(plan), statistics.median(found), loss)

    def check(self, values: Values) -> None:
        """Raises MachineError where the GPU does not answer after these."""
        try:
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
        except RuntimeError as error:
            remedy = "run the study again without these values"
            raise MachineError(f"the GPU answers nothing after {dict(values)}: {error}", remedy=remedy) from None


@contextmanager
def leaving(multiprocessors: int, device: torch.device) -> Iterator[None]:
    """PyTorch's products leave so many to other kernels, all but the first layer's on the way forward: that has a plan
    of its own. Raises MachineError where cuBLAS refuses.
    """
    if not multiprocessors or device.type != "cuda":
        yield
        return
    there = torch.cuda.get_device_properties(device).multi_processor_count
    _tell_cublas(there - multiprocessors)
    try:
        yield
    finally:
        _tell_cublas(0)


def _tell_cublas(multiprocessors: int) -> None:
    """0: all of them."""
    remedy = "use PyTorch for CUDA 12 or newer"
    try:
        library = ctypes.CDLL(f"libcublas.so.{(torch.version.cuda or '').partition('.')[0]}")
        tell = library.cublasSetSmCountTarget
    except (OSError, AttributeError) as error:
        raise MachineError(f"cuBLAS cannot be told of multiprocessors: {error}", remedy=remedy) from None
    handle = ctypes.c_void_p(torch.cuda.current_blas_handle())  # type: ignore[no-untyped-call]
    if code := tell(handle, ctypes.c_int(multiprocessors)):
        raise MachineError(f"cuBLAS refuses {multiprocessors} multiprocessors: error {code}", remedy=remedy)
