"""The rungs of the ladder: which source and which transfer a system puts before the same training loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hone.config.trainings import SAMPLING
from hone.gnn.reference_sampler import ReferenceSampler
from hone.gnn.scaled import ScaledSource
from hone.gnn.sources import BatchSource, LoaderSource, WholeGraphSource, WorkerSource
from hone.gnn.transfer import DirectTransfer, PipelinedTransfer, Transfer

if TYPE_CHECKING:
    from hone.gnn.batch import Batch
    from hone.gnn.graph import Graph
    from hone.gnn.observer import Observer
    from hone.gnn.seeds import Plan
    from hone.records.gnn import System


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Everything before the step: batches are prepared, then brought to the device."""

    source: BatchSource
    transfer: Transfer

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """An epoch's batches on the device, in order."""
        return self.transfer(self.source.batches(plan, observer), observer)

    def close(self) -> None:
        """End the workers."""
        self.source.close()


def assemble(
    system: System,
    graph: Graph,
    fanouts: Sequence[int],
    *,
    seed: int,
    device: torch.device,
    threads: int,
    slots: int,
    sampler: Path | None,
    scaled_sums: bool = False,
    objects: Mapping[str, str] | None = None,
) -> Pipeline:
    """The pipeline of a system; `threads` prepare batches, of which `slots` are ahead at most.

    `sampler` is the shared object of `compiled_library`, where the system has one. With `scaled_sums` blocks say what
    their sums are to be multiplied with. `objects`: operator -> shared object that runs it in the place of the builtin.
    Raises MachineError where a peer's package or the shared object is missing, or the GPU has too little memory.
    """
    transfer = PipelinedTransfer(device) if system == "pipelined" else DirectTransfer(device)
    if system == "full_batch":  # its sums are whole
        return Pipeline(WholeGraphSource(graph, len(fanouts), device), transfer)
    if system in ("pyg_gpu", "wholegraph"):
        return Pipeline(_peer(system, graph, fanouts, device, sampler, seed), transfer)
    pin_memory = device.type == "cuda"
    source = _sampling(
        system, graph, fanouts, seed=seed, threads=threads, slots=slots, sampler=sampler, pin_memory=pin_memory,
        objects=objects or {},
    )  # fmt: skip
    return Pipeline(ScaledSource(source, graph) if scaled_sums else source, transfer)


def _peer(
    system: System, graph: Graph, fanouts: Sequence[int], device: torch.device, hook: Path | None, seed: int
) -> BatchSource:
    """What samples on the device by other people's means: its batches are there already."""
    if system == "pyg_gpu":
        from hone.gnn.pyg_gpu import OperatorSource

        return OperatorSource(graph, fanouts, device, seed=seed)
    from hone.gnn.wholegraph import WholeMemorySource

    if hook is None:
        raise ValueError("wholegraph needs its compiled hook")
    return WholeMemorySource(graph, fanouts, device, hook, seed=seed)


def _sampling(
    system: System,
    graph: Graph,
    fanouts: Sequence[int],
    *,
    seed: int,
    threads: int,
    slots: int,
    sampler: Path | None,
    pin_memory: bool,
    objects: Mapping[str, str],
) -> BatchSource:
    if system == "plain":
        reference = ReferenceSampler(graph.indptr, graph.indices, fanouts, seed=seed)
        return LoaderSource(reference, graph, workers=threads)
    if system == "pyg":
        from hone.gnn.pyg import PyGSource

        return PyGSource(graph, fanouts, workers=threads)
    from hone.gnn.sampling import Sampler

    if sampler is None:
        raise ValueError(f"{system} needs the compiled sampler")
    drawn_by: dict[str, Any] = {"inner_loop": Path(objects[SAMPLING])} if SAMPLING in objects else {}
    if system == "fast_sampler":
        return LoaderSource(Sampler(graph, fanouts, sampler, seed=seed, **drawn_by), graph, workers=threads)
    workers = Sampler(
        graph, fanouts, sampler, seed=seed, threads=max(1, threads), slots=slots, pin_memory=pin_memory, **drawn_by
    )
    return WorkerSource(workers.epoch, workers.close)
