"""How long a batch takes to prepare: single designs of the sampler by themselves, and the sampler as it is used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hone.gnn.sampling.design import Design
from hone.gnn.sampling.handle import Handle
from hone.gnn.sampling.native import InnerLoop, Library, NativeBatch
from hone.gnn.sampling.sampler import Sampler

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.graph import Graph
    from hone.gnn.seeds import Plan


@dataclass(frozen=True)
class Sample:
    """One batch of one design, prepared by one thread."""

    batch_ms: float
    cpu_ms: float
    """Processor time of the thread: what other programs take from it does not count."""
    sample_ms: float
    slice_ms: float
    """Feature rows; 0 where they are copied while sampling goes on."""
    unique_nodes: int
    sampled_edges: int


@dataclass(frozen=True)
class EpochTime:
    """An epoch of prepared batches that nobody trained on."""

    epoch_s: float
    cpu_s: float
    """Processor time of the whole process, all its threads together."""
    batches: int
    unique_nodes: int
    """Of all batches together."""
    sampled_edges: int


class Preparing(Protocol):
    """A system that prepares batches with some threads."""

    def epoch(self, plan: Plan) -> EpochTime:
        """Prepare all of the plan's batches and drop each at once."""

    def close(self) -> None:
        """End its threads."""


def measure_design(
    library: Library, graph: Graph, fanouts: Sequence[int], design: Design, batches: Sequence[Tensor], epoch: int,
    *, inner_loop: InnerLoop | None = None,
) -> list[Sample]:  # fmt: skip
    """Prepare the batches by one thread into one slot; the first, which makes the memory, does not count."""
    handle = Handle(library, graph, fanouts, threads=1, slots=1, pin_memory=False, design=design, inner_loop=inner_loop)
    found: list[Sample] = []
    try:
        handle.start(batches, seed=0, epoch=epoch)
        while (batch := handle.next()) is not None:
            found.append(_sample(batch, len(fanouts)))
            handle.release(batch.slot)
    finally:
        handle.halt()
    return found[1:]


def _sample(batch: NativeBatch, hops: int) -> Sample:
    return Sample(
        batch_ms=1e3 * (batch.ended_s - batch.began_s),
        cpu_ms=1e3 * batch.cpu_s,
        sample_ms=1e3 * (batch.sampled_s - batch.began_s),
        slice_ms=1e3 * (batch.ended_s - batch.sampled_s),
        unique_nodes=batch.num_nodes,
        sampled_edges=sum(batch.hops[hop].num_edges for hop in range(hops)),
    )


class HoneSampler:
    """Hone's sampler, as training uses it."""

    def __init__(self, library: Path, graph: Graph, fanouts: Sequence[int], threads: int, *, pin_memory: bool) -> None:
        self._sampler = Sampler(graph, fanouts, library, threads=threads, pin_memory=pin_memory)

    def epoch(self, plan: Plan) -> EpochTime:
        """As Preparing."""
        nodes = edges = count = 0
        start_s, cpu_s = time.perf_counter(), time.process_time()
        for batch in self._sampler.epoch(plan):
            nodes, edges, count = nodes + len(batch.nodes), edges + batch.num_edges, count + 1
            batch.release()
        return EpochTime(time.perf_counter() - start_s, time.process_time() - cpu_s, count, nodes, edges)

    def close(self) -> None:
        """As Preparing."""
        self._sampler.close()
