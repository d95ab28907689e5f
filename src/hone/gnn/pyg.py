"""PyTorch Geometric as the peer: its convolutions in our models, and its NeighborLoader before our training loop."""

from __future__ import annotations

import importlib
import mmap
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from torch.utils.data import DataLoader

from hone.core.errors import MachineError
from hone.gnn.aggregate import destinations
from hone.gnn.batch import Batch, Block
from hone.gnn.sources import fetch

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.graph import Graph
    from hone.gnn.layers import Convolution
    from hone.gnn.models.model import GNN
    from hone.gnn.observer import Observer
    from hone.gnn.seeds import Plan


def library() -> Any:
    """The module `torch_geometric`; its import warns of what it uses of torch itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        geometric = importlib.import_module("torch_geometric")
        importlib.import_module("torch_geometric.nn")
    return geometric


def with_pyg_convolutions(model: GNN) -> GNN:
    """The model with PyTorch Geometric's convolutions in place of ours, in place, with the same parameters."""
    convs = [PyGConv(cast("Convolution", conv)) for conv in model.convs]
    model.convs = nn.ModuleList(convs)
    return model


class PyGConv(nn.Module):
    """One of PyTorch Geometric's convolutions, called as ours are."""

    def __init__(self, ours: Convolution) -> None:
        super().__init__()
        state = {name: value.clone() for name, value in ours.state_dict().items()}
        with torch.random.fork_rng(devices=[]):  # their constructors draw from the global generator
            self.conv = ours.counterpart(library().nn)
        self.conv.load_state_dict(self.conv.state_dict() | state)  # theirs may have more, such as GIN's epsilon

    def forward(self, x: Tensor, block: Block, own: Tensor | None = None) -> Tensor:
        """As our convolutions."""
        edges = torch.stack([block.indices.long(), destinations(block).long()])
        target = x[: block.num_dst] if own is None else own
        result: Tensor = self.conv((x, target), edges, size=(block.num_src, block.num_dst))
        return result


def own_names(parameters: dict[str, Any]) -> dict[str, Any]:
    """The state dict of a model `with_pyg_convolutions` as one of the model without."""
    return {name.replace(".conv.", "."): value for name, value in parameters.items() if not name.endswith(".eps")}


class PyGSource:
    """NeighborLoader in worker processes, as its users have it; it needs pyg-lib or torch-sparse to sample.

    The workers stay for all epochs, as those of `plain` (PyTorch's `persistent_workers`). They share one int64 copy of
    `indices`, which both samplers ask for, and the node ids: 8 bytes an entry and a node, 27 GB for papers100M beside
    the pages of the graph's maps, and no more while it is made (0.5 s a GB with two threads; nothing is sorted). Only
    the batches on their way are in /dev/shm, two for each worker.

    Its batch is one subgraph, through which every layer passes all messages. It draws from generators of its own,
    which no seed of ours reaches.
    """

    def __init__(self, graph: Graph, fanouts: Sequence[int], *, workers: int) -> None:
        """`workers` processes; 0 samples in this process. Raises MachineError where no sampler is installed."""
        pyg = library()
        if not (pyg.typing.WITH_PYG_LIB or pyg.typing.WITH_TORCH_SPARSE):
            remedy = "install pyg-lib for this version of PyTorch, or take pyg out of the training's systems"
            raise MachineError("PyTorch Geometric cannot sample without pyg-lib or torch-sparse", remedy=remedy)
        self.layers = len(fanouts)
        self.features, self.labels = graph.tensor("features"), graph.tensor("labels")
        self._seeds = _Seeds()
        nodes = graph.info.num_nodes
        sample = pyg.loader.NeighborLoader(
            (pyg.data.Data(), in_neighbours(graph.tensor("indptr"), shared_int64(graph.tensor("indices")))),
            list(fanouts),
            input_nodes=torch.arange(nodes),
        )
        # A NeighborLoader refers to itself, so workers that it keeps end only in a garbage collection, 5 s for each.
        # Called with ids it samples one batch, which is all that its own workers do; so these are of a plain loader.
        self._loader: DataLoader[Any] = DataLoader(
            range(nodes),  # type: ignore[arg-type]  # has all that a map-style dataset needs
            batch_sampler=self._seeds,
            collate_fn=sample,
            num_workers=workers,
            persistent_workers=workers > 0,
            multiprocessing_context="fork" if workers else None,  # another way would copy the graph to each worker
        )

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource."""
        self._seeds.plan = plan
        for index, data in enumerate(self._loader):
            with observer.on_host("prepare", index, "main"):
                batch = fetch(subgraph_batch(data, index, plan.epoch, self.layers), self.features, self.labels)
            yield batch

    def close(self) -> None:
        """As BatchSource."""
        del self._loader


class _Seeds:
    """What the workers are asked for: the nodes of each batch of the current plan."""

    plan: Plan

    def __iter__(self) -> Iterator[list[int]]:
        for index in range(len(self.plan)):
            yield self.plan.seeds(index).tolist()

    def __len__(self) -> int:
        return len(self.plan)


def in_neighbours(indptr: Tensor, indices: Tensor) -> Any:
    """A GraphStore of PyTorch Geometric that lends a CSR, both int64, as what it samples from; nothing is copied.

    A row of the CSR lists the nodes that send to the row's node. PyTorch Geometric has a column for who receives: to
    it this is a CSC. (An `edge_index` would be sorted, and copied into /dev/shm.)
    """
    data = library().data
    nodes = len(indptr) - 1
    layout = data.EdgeAttr(edge_type=None, layout="csc", size=(nodes, nodes))
    base: Any = data.GraphStore

    class InNeighbours(base):  # type: ignore[misc]  # the library is imported only where it is used
        def _get_edge_index(self, edge_attr: Any) -> tuple[Tensor, Tensor]:
            return indices, indptr

        def get_all_edge_attrs(self) -> list[Any]:
            return [layout]

        def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool:
            return False

        def _remove_edge_index(self, edge_attr: Any) -> bool:
            return False

    return InNeighbours()


def shared_int64(values: Tensor) -> Tensor:
    """A copy as int64 in anonymous shared memory: forked processes read the same pages, and none is in /dev/shm.

    Nor does forking copy page tables, which takes half a second for each worker with 26 GB of private memory.
    """
    if not len(values):
        return values.long()
    return torch.frombuffer(mmap.mmap(-1, 8 * len(values)), dtype=torch.int64).copy_(values)


def subgraph_batch(data: Any, index: int, epoch: int, layers: int) -> Batch:
    """NeighborLoader's data (n_id, edge_index, batch_size) as a batch whose layers all have the whole subgraph."""
    begun_s = time.perf_counter()
    nodes = len(data.n_id)
    sources, targets = data.edge_index
    ordered, order = torch.sort(targets, stable=True)
    indptr = torch.searchsorted(ordered, torch.arange(nodes + 1), out_int32=True)
    block = Block(indptr, sources[order].int(), num_dst=nodes, num_src=nodes)
    batch = Batch(index, epoch, data.n_id.int(), num_seeds=data.batch_size, blocks=(block,) * layers)
    return replace(batch, prepared_s=(begun_s, time.perf_counter()))
