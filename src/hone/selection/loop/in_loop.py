"""A selected kernel of the device system beside the builtin, in the loop's own memory at the training's own sizes.

It meets what the judge's inputs do not have: other fan-outs, widths and dropouts, and a table of features as large as
the graph's. Places that a batch does not use hold what earlier batches left.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.native import Library
from hone.gnn.device.operators import Operators, SelectedOperators
from hone.gnn.device.sage import SagePass
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.streams import graph_of
from hone.gnn.device.weights import Weights
from hone.gnn.graph import Graph
from hone.gnn.models import build_model
from hone.gnn.seeds import Plan
from hone.operators.check import compare

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.places.spread import Features
    from hone.gnn.job import TrainingJob
    from hone.records import GraphInfo, Tolerance

BATCHES = 3
"""The last is half as large as the others."""
SEED = 20250905


def differences(job: TrainingJob, folder: Path, library: Path, tolerance: Tolerance) -> list[str]:
    """A line for each call of the job's objects that the builtin answers otherwise, over some steps and inferences.

    The graph in `folder` gives sizes alone: another is made in the device's memory, with uniform degrees. On a GPU a
    step is captured, too. Raises OperatorError for a kernel that cannot be called, RuntimeError where CUDA refuses.
    """
    device, kernels, info = torch.device(job.device), Library(library), Graph.open(folder).info
    graph = made_graph(info, 2 * max(job.hyper.fanouts), device)
    operators = ComparedOperators(kernels, job.objects, job.definitions)
    operators.tolerance = tolerance
    model = build_model(
        "sage", inputs=info.feature_dim, hidden=job.hyper.hidden, outputs=info.num_classes, layers=job.layers,
        dropout=job.hyper.dropout, seed=SEED,
    )  # fmt: skip
    weights = Weights(model, graph.features, job.hyper, kernels)
    room = Room.largest(job.hyper.batch_size, job.hyper.fanouts, info.num_nodes)
    most = BATCHES * job.hyper.batch_size
    sampler = DeviceSampler(graph, room, kernels, seed=SEED, max_seeds=most, operators=operators)
    place = BatchRoom(room, job.layers, device, weights.widths[0])
    part = SagePass(weights, graph, room, job.hyper.dropout, kernels, operators)
    wanted = BATCHES * job.hyper.batch_size - job.hyper.batch_size // 2
    plan = Plan(torch.arange(0, info.num_nodes, max(1, info.num_nodes // wanted))[:wanted], job.hyper.batch_size)
    sampler.begin(plan)
    for _ in range(len(plan)):
        sampler.make_ready(1)
        sampler.sample(place)
        part.gather(place)
        part.forward(place, training=False)
        _step(part, place)
    if device.type == "cuda":
        alone = SelectedOperators(kernels, job.objects, job.definitions)
        part = SagePass(weights, graph, room, job.hyper.dropout, kernels, alone)
        sampler = DeviceSampler(graph, room, kernels, seed=SEED, max_seeds=most, operators=alone)
        sampler.begin(plan)
        sampler.make_ready(1)
        graph_of(partial(_sampled_step, sampler, part, place))()
        torch.cuda.synchronize(device)
    return list(dict.fromkeys(operators.found))


def _sampled_step(sampler: DeviceSampler, part: SagePass, place: BatchRoom) -> None:
    sampler.sample(place)
    _step(part, place)


def _step(part: SagePass, place: BatchRoom) -> None:
    part.gather(place)
    part.forward(place, training=True)
    part.backward(place)


def made_graph(info: GraphInfo, most: int, device: torch.device) -> DeviceGraph:
    """As many nodes and features as a graph has, each node with 0 to `most` neighbours anywhere."""
    generator = torch.Generator(device).manual_seed(SEED)
    drawn: dict[str, Any] = {"generator": generator, "device": device}
    indptr = torch.zeros(info.num_nodes + 1, dtype=torch.int64, device=device)
    torch.cumsum(torch.randint(most + 1, (info.num_nodes,), **drawn), 0, out=indptr[1:])
    width = -(-info.feature_dim // 8) * 8
    features = torch.empty(info.num_nodes, width, dtype=torch.bfloat16, device=device).normal_(generator=generator)
    return DeviceGraph(
        indptr=indptr,
        indices=torch.randint(info.num_nodes, (int(indptr[-1]),), dtype=torch.int32, **drawn),
        features=features,
        labels=torch.randint(info.num_classes, (info.num_nodes,), **drawn),
    )


class ComparedOperators(SelectedOperators):
    """The builtins, each beside what the objects make of the same call; what is not an object's agrees with itself."""

    tolerance: Tolerance
    """Of values as large as 1 at most: what is compared is divided by the largest."""

    def __init__(self, *given: Any) -> None:
        """As SelectedOperators."""
        super().__init__(*given)
        self.found: list[str] = []

    def draw_neighbours(self, batch: BatchRoom, graph: DeviceGraph, progress: Tensor) -> None:
        """Both, one after the other in the same memory, with what lay there before the first."""
        memory = batch.hops[-1].neighbours, batch.hops[-1].degrees
        before = [tensor.clone() for tensor in memory]
        super().draw_neighbours(batch, graph, progress)
        got = [tensor.clone() for tensor in memory]
        for tensor, left in zip(memory, before, strict=True):
            tensor.copy_(left)
        Operators.draw_neighbours(self, batch, graph, progress)
        if not all(map(torch.equal, memory, got)):
            self.found.append("draw_neighbours, in the loop against the builtin: draws other neighbours")

    def mean_of_features(self, batch: BatchRoom, features: Features, out: Tensor) -> None:
        """Both."""
        super().mean_of_features(batch, features, got := _unwritten(out))
        Operators.mean_of_features(self, batch, features, out)
        self._compare("mean_of_features", out, got)

    def mean_of_states(
        self, batch: BatchRoom, layer: int, share: float, states: Tensor, out: Tensor, notes: Tensor | None = None
    ) -> None:
        """Both."""
        super().mean_of_states(batch, layer, share, states, got := _unwritten(out))
        Operators.mean_of_states(self, batch, layer, share, states, out)
        self._compare(f"mean_of_states, layer {layer + 1}, dropout {share:g}", out, got)

    def gradient_of_states(
        self, batch: BatchRoom, layer: int, share: float, out_gradient: Tensor, states: Tensor, gradient: Tensor,
        notes: Tensor | None = None,
    ) -> None:  # fmt: skip
        """Both."""
        super().gradient_of_states(batch, layer, share, out_gradient, states, got := _unwritten(gradient))
        Operators.gradient_of_states(self, batch, layer, share, out_gradient, states, gradient)
        self._compare(f"gradient_of_states, layer {layer + 1}, dropout {share:g}", gradient, got)

    def _compare(self, what: str, expected: Tensor, got: Tensor) -> None:
        largest = expected.abs().max().float()
        scale = torch.where(largest > 0, largest, 1.0)
        # Widened first: dividing bfloat16 would round once more.
        row = compare([expected.float() / scale], [got.float() / scale], self.tolerance)
        if not row["agrees"]:
            self.found.append(f"{what}, in the loop against the builtin: {row['detail']}")


def _unwritten(like: Tensor) -> Tensor:
    """Rows that agree with nothing; with the row behind them that operators may write to."""
    rows, width = like.shape
    return like.new_full((rows + 1, width), torch.nan)[:rows]
