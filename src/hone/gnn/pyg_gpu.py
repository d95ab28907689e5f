"""The peer `pyg_gpu`: graph and features on one device, sampled and gathered there by PyTorch's operators alone.

It is what a user of PyTorch and PyTorch Geometric can write without a kernel, so that each hop waits for the device
to say how many nodes it found. It runs on a CPU as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from hone.core.errors import MachineError
from hone.gnn.batch import Batch, Block
from hone.gnn.device.copies import on_device
from hone.gnn.graph import Graph
from hone.gnn.seeds import derived_seed
from hone.gnn.sources import fetch

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.observer import Observer
    from hone.gnn.seeds import Plan

FREE = 2**31 - 1
"""In `Resident.first`: this node is in no batch."""
RESIDENT = ("indptr", "indices", "features", "labels")
"""Arrays of a graph that lie on the device."""
GIB = 1 << 30


@dataclass(frozen=True)
class Resident:
    """A graph whose arrays lie on one device."""

    indptr: Tensor
    """(nodes + 1,) int64."""
    indices: Tensor
    """(edges,) int32."""
    features: Tensor
    """(nodes, feature_dim), as the graph has them."""
    labels: Tensor
    """(nodes,) int64."""
    first: Tensor
    """(nodes,) int32, FREE but while nodes are numbered."""


@functools.lru_cache(maxsize=1)
def resident(path: Path, device: torch.device) -> Resident:
    """The graph of a folder on a device, copied once for training and validation; on a CPU the maps of its files.

    Raises MachineError when the GPU has too little memory.
    """
    graph = Graph.open(path)
    require_gpu_memory(graph, device)
    arrays = {name: graph.tensor(name) for name in RESIDENT}
    if device.type == "cuda":
        arrays = {name: on_device(array, device) for name, array in arrays.items()}
    first = torch.full((graph.info.num_nodes,), FREE, dtype=torch.int32, device=device)
    return Resident(**arrays, first=first)


def require_gpu_memory(graph: Graph, device: torch.device) -> None:
    """Raise MachineError when the free memory of a GPU does not hold a graph's arrays; batches come on top."""
    if device.type == "cpu":
        return
    wanted, free = sum(graph.array(name).nbytes for name in RESIDENT), torch.cuda.mem_get_info(device)[0]
    if wanted > free:
        said = f"the graph needs {wanted / GIB:.1f} GiB of GPU memory, {free / GIB:.1f} GiB are free"
        remedy = "train with systems: [pipelined], or [device], which can leave features on the host"
        raise MachineError(said, where=str(graph.path), remedy=remedy)


class OperatorSource:
    """Draws batches on the device that holds the graph, uniformly and without replacement.

    A batch depends on (seed, epoch, batch) and on the kind of device: its generator is PyTorch's.
    """

    def __init__(self, graph: Graph, fanouts: Sequence[int], device: torch.device, *, seed: int) -> None:
        """`fanouts` from the seeds outwards, -1 takes every neighbour. Raises MachineError: no room on the GPU."""
        self.graph = resident(graph.path, device)
        self.fanouts = tuple(fanouts)
        self.device = device
        self.seed = seed
        self._generator = torch.Generator(device)

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource, on the device."""
        lane = "gpu" if self.device.type == "cuda" else "main"
        plan = replace(plan, order=plan.order.to(self.device))
        for index in range(len(plan)):
            with observer.on_device("prepare", index, lane):
                batch = self.sample(plan.seeds(index), index, plan.epoch)
                batch = fetch(batch, self.graph.features, self.graph.labels)
            yield batch

    def sample(self, seeds: Tensor, batch_index: int, epoch: int) -> Batch:
        """A batch without features and labels around int64 seeds, each once and on the device."""
        self._generator.manual_seed(derived_seed(self.seed, epoch, batch_index))
        nodes, blocks = seeds, []
        for fanout in self.fanouts:
            counts, neighbours = self._drawn(nodes, fanout)
            grown, local = self._numbered(nodes, neighbours)
            indptr = F.pad(counts.cumsum(0, dtype=torch.int32), (1, 0))
            blocks.append(Block(indptr, local, num_dst=len(nodes), num_src=len(grown)))
            nodes = grown
        return Batch(batch_index, epoch, nodes.int(), num_seeds=len(seeds), blocks=tuple(reversed(blocks)))

    def close(self) -> None:
        """As BatchSource; the graph stays for the next source."""

    def _drawn(self, nodes: Tensor, fanout: int) -> tuple[Tensor, Tensor]:
        """How many neighbours each node gets, and the neighbours, row after row; all int64."""
        start = self.graph.indptr[nodes]
        degree = self.graph.indptr[nodes + 1] - start
        counts = degree if fanout < 0 else degree.clamp(max=fanout)
        before = counts.cumsum(0) - counts
        position = torch.repeat_interleave(start - before, counts)
        position += torch.arange(len(position), device=self.device)
        many = (degree > counts).nonzero()[:, 0]
        if len(many):  # the others take all that they have
            slots = before[many][:, None] + torch.arange(fanout, device=self.device)
            position[slots] = start[many][:, None] + distinct_positions(degree[many], fanout, self._generator)
        return counts, self.graph.indices[position].long()

    def _numbered(self, nodes: Tensor, neighbours: Tensor) -> tuple[Tensor, Tensor]:
        """The nodes with those neighbours that are new behind them, as first met, and the neighbours' places there.

        It sorts nothing: each node's slot of `first` takes the least place that the node stands at.
        """
        together = torch.cat([nodes, neighbours])
        place = torch.arange(len(together), dtype=torch.int32, device=self.device)
        first = self.graph.first.scatter_reduce_(0, together, place, "amin")
        met = first[together]
        new = met == place
        first[together] = FREE
        number = new.cumsum(0, dtype=torch.int32) - 1
        return together[new], number[met[len(nodes) :].long()]


def distinct_positions(degree: Tensor, fanout: int, generator: torch.Generator) -> Tensor:
    """(n, fanout) int64: row i has distinct numbers below `degree[i]`, which is above `fanout`; `degree` (n,) int64.

    Every set of so many is equally likely, by Floyd's algorithm (Bentley and Floyd 1987): step s draws from the numbers
    up to degree - fanout + s, and takes the last of these instead if the drawn one is taken. Its cost does not grow
    with the degrees.
    """
    bits = torch.empty(fanout, len(degree), dtype=torch.int64, device=degree.device).random_(generator=generator)
    last = degree + torch.arange(-fanout, 0, device=degree.device)[:, None]
    chosen = bits.remainder_(last + 1)  # of all steps at once: few operators are left for each
    for step in range(1, fanout):
        taken = (chosen[:step] == chosen[step]).any(0)
        torch.where(taken, last[step], chosen[step], out=chosen[step])
    return chosen.t()
