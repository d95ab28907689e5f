"""Which models the device system trains, and what its loop and its inference have to know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hone.gnn.device.autograd_pass import AutogradPass, ModelWeights
from hone.gnn.device.sage import SagePass
from hone.gnn.device.streams import IN_TURN, Aside, nothing
from hone.gnn.device.weights import FlatWeights, Weights

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
    from hone.gnn.device.native import Library
    from hone.gnn.device.operators import Operators
    from hone.gnn.device.weight_gradient import WeightGradient
    from hone.gnn.distributed import Ranks
    from hone.gnn.job import TrainingJob
    from hone.gnn.models.model import GNN
    from hone.records.gnn import GraphInfo


class Pass(Protocol):
    """One batch's way through a model, forward and backward; can be captured."""

    total: Tensor
    """(1,) float64: sum of the losses of the batch that has gone backward."""

    def gather(self, batch: BatchRoom) -> None:
        """What no weight has a say in, and can be done ahead; `forward` comes after it."""

    def forward(self, batch: BatchRoom, *, training: bool, meanwhile: Callable[[], None] = nothing) -> Tensor:
        """Scores of the seeds' room; classes come first, further columns count nothing.

        `meanwhile` is called once, before what leaves most of the memory's bandwidth to others.
        """
        ...

    def backward(self, batch: BatchRoom, aside: Aside = IN_TURN) -> None:
        """After `forward` in training: the gradient of the global batch's mean loss, to the weights' `gradient`.

        Notes the loss aside; the caller waits for what is aside.
        """


@dataclass(frozen=True)
class DeviceModel:
    """A model with its parameters on the device."""

    weights: FlatWeights
    passes: Callable[[Room], Pass]
    """Makes the pass for batches in rooms of a size."""
    classes: int
    numbered: bool = False
    """Whether its rooms number the last hop's nodes, too."""
    operators: Operators | None = None
    """What its batches are drawn with, unless the library's."""
    unread: frozenset[int] = frozenset()
    """Hops of which no pass asks who reads a source."""


def sage_model(
    weights: Weights, graph: DeviceGraph, dropout: float, library: Library, operators: Operators | None = None,
    weight_gradient: WeightGradient | None = None,
) -> DeviceModel:  # fmt: skip
    """GraphSAGE, by kernels written for it; a `weight_gradient` is in place of the first layer's gradient of states."""

    def made(room: Room) -> Pass:
        return SagePass(weights, graph, room, dropout, library, operators, weight_gradient)

    unread = frozenset() if weight_gradient is None else frozenset({len(weights.gradients) - 2})
    return DeviceModel(weights, made, weights.classes, operators=operators, unread=unread)


def device_model(
    job: TrainingJob, model: GNN, graph: DeviceGraph, library: Library, ranks: Ranks, info: GraphInfo,
    operators: Operators | None = None,
) -> DeviceModel:  # fmt: skip
    """The job's model; `info` is the graph's, whose features the device has filled up with zeros."""
    if job.model == "sage":
        weights = Weights(model, graph.features, job.hyper, library, job.plateau, ranks)
        return sage_model(weights, graph, job.hyper.dropout, library, operators)
    flat = ModelWeights(model, graph.features.device, job.hyper, library, job.plateau, ranks)
    part = AutogradPass(
        flat, graph, library, ranks, inputs=info.feature_dim, precision=job.precision, scaled_sums=job.hyper.scaled_sums
    )
    return DeviceModel(flat, lambda _: part, info.num_classes, numbered=True)  # it keeps nothing of a room's size
