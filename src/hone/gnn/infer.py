"""Accuracy of a trained model: on sampled neighbourhoods, or on full ones, layer by layer over all nodes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hone.core.files import disk_errors, reserve
from hone.gnn.learner import autocast, model_input
from hone.gnn.observer import NullObserver
from hone.gnn.reference_sampler import ReferenceSampler
from hone.records.gnn import DegreeFigures

if TYPE_CHECKING:
    from torch import Tensor

    from hone.config.trainings import Precision
    from hone.gnn.graph import Graph
    from hone.gnn.models.model import GNN
    from hone.gnn.seeds import Plan
    from hone.gnn.systems import Pipeline

EDGES_A_CHUNK = 1 << 20
"""Layer by layer, so many edges at a time: with d features about 8 d MiB at most, unless one node has more of them."""
NODES_A_WINDOW = 1 << 20


def count_correct(model: GNN, pipeline: Pipeline, plan: Plan, precision: Precision) -> Tensor:
    """How many of this rank's nodes of the plan the model puts into their class: a scalar on the device."""
    return right(model, pipeline, plan, precision).sum()


@torch.inference_mode()
def right(model: GNN, pipeline: Pipeline, plan: Plan, precision: Precision) -> Tensor:
    """Whether the model puts each of this rank's nodes of the plan into its class: (n,) bool on the device."""
    model.eval()
    device = next(model.parameters()).device
    found = [torch.empty(0, dtype=torch.bool, device=device)]
    for batch in pipeline.batches(plan, NullObserver()):
        if batch.features is None or batch.labels is None:
            raise ValueError("a batch to infer on has features and labels")
        with autocast(device, precision):
            scores = model(model_input(batch.features, precision), batch.blocks, None)
        found.append(scores[: batch.num_seeds].argmax(dim=1) == batch.labels)
    return torch.cat(found)


def by_degree(degrees: Tensor, correct: Tensor) -> tuple[DegreeFigures, ...]:
    """Nodes and right ones by powers of two of the degree; `degrees` (n,) int64, `correct` (n,) bool."""
    bins = torch.where(degrees > 0, torch.log2(degrees.clamp(min=1).double()).floor().long() + 1, 0)
    nodes, hits = torch.bincount(bins).tolist(), torch.bincount(bins, weights=correct.double()).tolist()
    return tuple(
        DegreeFigures(low=2**number // 2, high=max(2**number - 1, 0), nodes=count, correct=round(hit))
        for number, (count, hit) in enumerate(zip(nodes, hits, strict=True))
        if count
    )


@torch.inference_mode()
def layerwise_classes(
    model: GNN, graph: Graph, nodes: Tensor, *, precision: Precision, scratch: Path | None = None,
    edges_a_chunk: int = EDGES_A_CHUNK,
) -> Tensor:  # fmt: skip
    """The class of each of the `nodes`, from full neighbourhoods: int64 on the CPU.

    Every layer but the last is computed once for all nodes of the graph, in chunks. Hidden states lie in mapped files
    in a temporary folder under `scratch`: nodes x hidden numbers for each layer, of which a model that reads only its
    last state keeps two at a time. Raises MachineError when the disk is full.
    """
    model.eval()
    features = graph.tensor("features")
    everything = torch.arange(graph.info.num_nodes)
    with tempfile.TemporaryDirectory(prefix="hone-layerwise-", dir=scratch) as folder:
        pass_ = _LayerPass(model, graph, precision, edges_a_chunk)
        states = [features]
        for layer in range(len(model.convs) - 1):
            state: Tensor | None = None
            for part, rows in pass_.run(layer, states[-1], everything):
                if state is None:
                    state = _mapped(Path(folder) / f"layer{layer}", len(everything), rows)
                state[part] = rows
            if state is None:
                raise ValueError("a graph has at least one node")
            states.append(state)
            if not model.reads_every_layer:
                (Path(folder) / f"layer{layer - 1}").unlink(missing_ok=True)
                states = [state]
        return torch.cat([
            pass_.classes(states, part, rows) for part, rows in pass_.run(len(model.convs) - 1, states[-1], nodes)
        ])  # fmt: skip


class _LayerPass:
    """One layer over many nodes, with all their neighbours."""

    def __init__(self, model: GNN, graph: Graph, precision: Precision, edges_a_chunk: int) -> None:
        self.model, self.graph, self.precision = model, graph, precision
        self.device = next(model.parameters()).device
        self.edges_a_chunk = edges_a_chunk
        self.neighbours = ReferenceSampler(graph.indptr, graph.indices, [-1], seed=0)

    def run(self, layer: int, before: Tensor, nodes: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """(nodes of a chunk, their states after the layer on the CPU), in the order of `nodes`."""
        for part in self._chunks(nodes):
            batch = self.neighbours.sample(part, 0, 0)
            block = batch.to(self.device).blocks[0]
            with autocast(self.device, self.precision):
                x = self._input(layer, before.index_select(0, batch.nodes))
                yield part, self.model.layer(layer, x, block, None).cpu()

    def classes(self, states: Sequence[Tensor], part: Tensor, last: Tensor) -> Tensor:
        """Classes of a chunk from its states after all layers."""
        kept = [self._input(i, state.index_select(0, part)) for i, state in enumerate(states)]
        with autocast(self.device, self.precision):
            scores = self.model.readout([*kept, last.to(self.device)], None)
        return scores.argmax(dim=1).cpu()

    def _input(self, layer: int, rows: Tensor) -> Tensor:
        rows = rows.to(self.device)
        return self.model.embed(model_input(rows, self.precision), None) if layer == 0 else rows

    def _chunks(self, nodes: Tensor) -> Iterator[Tensor]:
        indptr = self.graph.tensor("indptr")
        for window in torch.split(nodes, NODES_A_WINDOW):
            edges = torch.cumsum(indptr[window + 1] - indptr[window] + 1, 0)
            pieces = torch.bincount(edges // self.edges_a_chunk)
            yield from (piece for piece in torch.split(window, pieces.tolist()) if len(piece))


def _mapped(path: Path, rows: int, like: Tensor) -> Tensor:
    """A matrix in a file of its own, of the width and data type of `like`; raises MachineError for a full disk."""
    width = like.shape[1]
    with disk_errors(path), path.open("wb") as file:
        # Writing to the map of a file that has no room on the disk would kill this process without a word.
        reserve(file.fileno(), rows * width * like.element_size())
    return torch.from_file(str(path), shared=True, size=rows * width, dtype=like.dtype).view(rows, width)
