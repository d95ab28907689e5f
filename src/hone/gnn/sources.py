"""How prepared batches come into being on the host: the stages seeds -> sample -> fetch features."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, get_worker_info

from hone.gnn.batch import Batch, Block
from hone.gnn.seeds import Plan

if TYPE_CHECKING:
    from hone.gnn.graph import Graph
    from hone.gnn.observer import Observer


class NeighbourSampler(Protocol):
    """Draws one batch: `hone.gnn.reference_sampler` in numpy, `hone.gnn.sampling` in C++."""

    def sample(self, seeds: Tensor, batch_index: int, epoch: int) -> Batch:
        """A batch without features and labels around int64 seeds."""


class BatchSource(Protocol):
    """Gives an epoch's batches in order, features and labels included."""

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """Batches on the host, or where the source keeps them."""

    def close(self) -> None:
        """End the workers."""


def fetch(batch: Batch, features: Tensor, labels: Tensor) -> Batch:
    """The batch with the rows of its nodes and the labels of its seeds: the stage "fetch features"."""
    return replace(
        batch,
        features=features.index_select(0, batch.nodes),
        labels=labels.index_select(0, batch.nodes[: batch.num_seeds]),
    )


class LoaderSource:
    """Worker processes of a torch DataLoader sample, the main process slices: how graph libraries are used."""

    def __init__(self, sampler: NeighbourSampler, graph: Graph, *, workers: int) -> None:
        """`workers` processes, which share the graph's pages with this one; 0 samples in this process."""
        self.features = graph.tensor("features")
        self.labels = graph.tensor("labels")
        self._requests = _Requests()
        self._loader: DataLoader[Batch] = DataLoader(
            _Sampled(sampler),
            sampler=self._requests,
            batch_size=None,
            num_workers=workers,
            persistent_workers=workers > 0,
            # Forked workers see the maps and the compiled sampler without opening them again.
            multiprocessing_context="fork" if workers else None,
            generator=torch.Generator().manual_seed(0),  # else the loader draws from the global one; unused
        )

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource."""
        self._requests.plan = plan
        for sampled in self._loader:
            observer.prepared(sampled)
            with observer.on_host("prepare", sampled.index, "main"):
                batch = fetch(sampled, self.features, self.labels)
            yield batch

    def close(self) -> None:
        """As BatchSource."""
        del self._loader


class WholeGraphSource:
    """One batch an epoch, of the whole graph: full-batch training as a case of the same loop.

    The nodes that are trained on come first, the others behind them; every layer computes all nodes.
    """

    def __init__(self, graph: Graph, layers: int, device: torch.device) -> None:
        """The batch is made once, for `graph.train`, and kept on `device`."""
        nodes = graph.info.num_nodes
        seeds = graph.tensor("train")
        others = torch.ones(nodes, dtype=torch.bool)
        others[seeds] = False
        order = torch.cat([seeds, others.nonzero()[:, 0]])
        block = _permuted(graph, order)
        whole = Batch(0, 0, order.int(), num_seeds=len(seeds), blocks=(block,) * layers)
        self.batch = fetch(whole, graph.tensor("features"), graph.tensor("labels")).to(device)

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource; the plan's order makes no difference."""
        yield replace(self.batch, epoch=plan.epoch)

    def close(self) -> None:
        """As BatchSource."""


class WorkerSource:
    """Threads of a compiled sampler prepare whole batches, features included, into memory that they reuse."""

    def __init__(self, epoch: Callable[[Plan], Iterator[Batch]], close: Callable[[], None]) -> None:
        """`epoch` gives the prepared batches of a plan in order; each borrows its memory until `release`."""
        self._epoch = epoch
        self._close = close

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource."""
        for batch in self._epoch(plan):
            observer.prepared(batch)
            yield batch

    def close(self) -> None:
        """As BatchSource."""
        self._close()


class _Requests:
    """What a DataLoader asks its workers for: the batches of the current plan."""

    plan: Plan

    def __iter__(self) -> Iterator[tuple[Tensor, int, int]]:
        for index in range(len(self.plan)):
            yield self.plan.seeds(index), index, self.plan.epoch

    def __len__(self) -> int:
        return len(self.plan)


class _Sampled(torch.utils.data.Dataset[Any]):
    """Answers requests; runs in the workers."""

    def __init__(self, sampler: NeighbourSampler) -> None:
        self.sampler = sampler

    def __getitem__(self, request: tuple[Tensor, int, int]) -> Batch:
        start_s = time.perf_counter()
        batch = self.sampler.sample(*request)
        here = get_worker_info()
        return replace(batch, worker=here.id if here else 0, prepared_s=(start_s, time.perf_counter()))


def _permuted(graph: Graph, order: Tensor) -> Block:
    """The graph with its nodes renumbered: node `order[i]` becomes i."""
    nodes = graph.info.num_nodes
    indptr, indices = graph.tensor("indptr"), graph.tensor("indices")
    position = torch.empty(nodes, dtype=torch.int32)
    position[order] = torch.arange(nodes, dtype=torch.int32)
    degree = (indptr[1:] - indptr[:-1])[order]
    bounds = torch.zeros(nodes + 1, dtype=torch.int64)
    torch.cumsum(degree, 0, out=bounds[1:])
    shift = torch.repeat_interleave(indptr[:-1][order] - bounds[:-1], degree)
    local = position[indices[torch.arange(len(indices)) + shift].long()]
    return Block(bounds.int(), local, num_dst=nodes, num_src=nodes)
