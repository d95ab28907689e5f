"""PyTorch Geometric as the peer: its convolutions in our models, and its NeighborLoader before our training loop."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hone.errors import MachineError
from hone.gnn.aggregate import destinations
from hone.gnn.batch import Batch, Block
from hone.gnn.layers import GATConv, GINConv, SAGEConv
from hone.gnn.sources import fetch

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.graph import Graph
    from hone.gnn.models import GNN
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
    convs = [PyGConv(conv) for conv in model.convs]
    model.convs = nn.ModuleList(convs)
    return model


class PyGConv(nn.Module):
    """One of PyTorch Geometric's convolutions, called as ours are."""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        layers = library().nn
        state = {name: value.clone() for name, value in ours.state_dict().items()}
        with torch.random.fork_rng(devices=[]):  # their constructors draw from the global generator
            self.conv = self._counterpart(ours, layers)
        self.conv.load_state_dict(state, strict=not isinstance(ours, GINConv))  # theirs has epsilon, too

    def forward(self, x: Tensor, block: Block, own: Tensor | None = None) -> Tensor:
        """As our convolutions."""
        edges = torch.stack([block.indices.long(), destinations(block).long()])
        target = x[: block.num_dst] if own is None else own
        result: Tensor = self.conv((x, target), edges, size=(block.num_src, block.num_dst))
        return result

    @staticmethod
    def _counterpart(ours: nn.Module, layers: Any) -> nn.Module:
        found: nn.Module
        if isinstance(ours, SAGEConv):
            found = layers.SAGEConv(ours.lin_l.in_features, ours.lin_l.out_features, aggr="mean", bias=False)
        elif isinstance(ours, GATConv):
            found = layers.GATConv(ours.lin.in_features, ours.lin.out_features, heads=1, bias=False)
        elif isinstance(ours, GINConv):
            found = layers.GINConv(ours.nn)
        else:
            raise TypeError(f"{type(ours).__name__} has no counterpart in PyTorch Geometric")
        return found


def own_names(parameters: dict[str, Any]) -> dict[str, Any]:
    """The state dict of a model `with_pyg_convolutions` as one of the model without."""
    return {name.replace(".conv.", "."): value for name, value in parameters.items() if not name.endswith(".eps")}


class PyGSource:
    """NeighborLoader in worker processes, as its users have it; it needs pyg-lib or torch-sparse to sample.

    Its batch is one subgraph, through which every layer passes all messages. It draws from generators of its own,
    which no seed of ours reaches.
    """

    def __init__(self, graph: Graph, fanouts: Sequence[int], *, workers: int) -> None:
        """Raises MachineError where no sampler is installed."""
        pyg = library()
        if not (pyg.typing.WITH_PYG_LIB or pyg.typing.WITH_TORCH_SPARSE):
            remedy = "install pyg-lib for this version of PyTorch, or take pyg out of the training's systems"
            raise MachineError("PyTorch Geometric cannot sample without pyg-lib or torch-sparse", remedy=remedy)
        self.fanouts, self.workers = list(fanouts), workers
        self.features, self.labels = graph.tensor("features"), graph.tensor("labels")
        indptr, indices = graph.tensor("indptr"), graph.tensor("indices").long()
        targets = torch.repeat_interleave(torch.arange(graph.info.num_nodes), indptr[1:] - indptr[:-1])
        self.data = pyg.data.Data(edge_index=torch.stack([indices, targets]), num_nodes=graph.info.num_nodes)

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource."""
        order = torch.cat([plan.seeds(index) for index in range(len(plan))])
        loader = library().loader.NeighborLoader(
            self.data, self.fanouts, input_nodes=order, batch_size=plan.batch_size, num_workers=self.workers
        )
        for index, data in enumerate(loader):
            with observer.on_host("prepare", index, "main"):
                batch = fetch(subgraph_batch(data, index, plan.epoch, len(self.fanouts)), self.features, self.labels)
            yield batch

    def close(self) -> None:
        """As BatchSource."""


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
