"""The one training loop. Which stages stand before it, and who observes it, makes no difference to it."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch

from hone.gnn.distributed import sum_over_ranks, wait_for_all
from hone.gnn.infer import count_correct, layerwise_classes
from hone.gnn.seeds import Orders, Plan
from hone.records.gnn import EpochFigures, EpochParts, Place, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from hone.config.trainings import Precision
    from hone.gnn.distributed import Ranks
    from hone.gnn.graph import Graph
    from hone.gnn.learner import Learner
    from hone.gnn.models.model import GNN
    from hone.gnn.observer import Observer, SpanObserver
    from hone.gnn.systems import Pipeline


@dataclass(frozen=True, slots=True)
class Epoch:
    """What the loop itself knows of an epoch."""

    batches: int
    epoch_s: float
    loss: float
    """Mean over the seeds of all ranks."""
    unique_nodes: float
    """Mean per batch of this rank."""
    sampled_edges: float


def run_epoch(pipeline: Pipeline, plan: Plan, learner: Learner, observer: Observer) -> Epoch:
    """One pass over a plan: seeds -> sample -> fetch features -> copy -> step."""
    lane = "gpu" if learner.device.type == "cuda" else "main"
    batches = nodes = edges = 0
    observer.begin_epoch()
    begun_s = time.perf_counter()
    for batch in pipeline.batches(plan, observer):
        with observer.on_device("train", batch.index, lane):
            learner.step(batch, plan.global_seeds(batch.index))
        batches += 1
        nodes += len(batch.nodes)
        edges += batch.num_edges
    loss = learner.take_loss() / max(1, len(plan.order))  # waits for the device
    epoch_s = time.perf_counter() - begun_s
    observer.end_epoch()
    each = max(1, batches)
    return Epoch(batches, epoch_s, loss, nodes / each, edges / each)


class LearnerLike(Protocol):
    """A learner of any system, as far as epochs and checkpoints have to know it."""

    device: torch.device
    ranks: Ranks

    @property
    def bare_model(self) -> GNN:
        """With the parameters as they are now."""

    @property
    def lr(self) -> Tensor:
        """The learning rate, a scalar."""

    def state(self) -> dict[str, Any]:
        """Everything that later steps depend on."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""


@dataclass
class Progress:
    """What a training has come to: all that has to be kept, beside the learner's state, to go on later."""

    epochs: list[EpochFigures] = field(default_factory=list)
    best_epoch: int | None = None
    best_accuracy: float = -math.inf
    """Of `best_epoch`."""
    best_parameters: dict[str, Any] | None = None
    stale: int = 0
    """Validations since the best one."""

    def add(self, figures: EpochFigures, model: torch.nn.Module) -> None:
        """An epoch is over, with or without a validation."""
        self.epochs.append(figures)
        if figures.valid_accuracy is None:
            return
        self.stale += 1
        if figures.valid_accuracy > self.best_accuracy:
            self.best_epoch, self.best_accuracy, self.stale = figures.epoch, figures.valid_accuracy, 0
            self.best_parameters = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        epochs = [figures.model_dump_json() for figures in self.epochs]
        return {
            "epochs": epochs, "best_epoch": self.best_epoch, "best_accuracy": self.best_accuracy,
            "best_parameters": self.best_parameters, "stale": self.stale,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Progress:
        """What `state` gave."""
        epochs = [EpochFigures.model_validate_json(text) for text in state["epochs"]]
        return cls(**{**state, "epochs": epochs})


@dataclass(frozen=True)
class Trainer:
    """Epochs, validation and early stopping around `run_epoch`."""

    graph: Graph
    learner: LearnerLike
    pipeline: Pipeline | None
    """None where an epoch is made otherwise."""
    observer: SpanObserver
    validate: Callable[[GNN], float] | None
    """Accuracy on the validation nodes, on every rank the same."""
    seed: int
    batch_size: int
    epochs: int
    validate_every: int
    patience_epochs: int | None
    max_batches: int | None
    """Of an epoch; None: as many as there are."""

    def run(self, progress: Progress, keep: Callable[[Progress], None]) -> bool:
        """Train on from `progress`; `keep` is called after every epoch. Whether it stopped early."""
        with closing(Orders(self.graph.tensor("train"), self.seed, self.epochs)) as orders:
            for epoch in range(len(progress.epochs), self.epochs):
                if self._patience_is_over(progress):
                    break
                progress.add(self._epoch(epoch, orders.of(epoch)), self.learner.bare_model)
                keep(progress)
        return len(progress.epochs) < self.epochs

    @property
    def placement(self) -> Place | None:
        """Where graph and features are, if it is not the host that batches are prepared on."""
        return None

    def timeline(self, batches: int) -> tuple[Span, ...]:
        """Spans of the last epoch's first batches."""
        return tuple(span for span in self.observer.spans if span.batch < batches)

    def parts(self, progress: Progress) -> EpochParts | None:
        """Of an epoch that is trained once more, if spans do not say where it goes; what was learned stays as it is.

        All ranks call it together.
        """
        return None

    def _run(self, plan: Plan) -> Epoch:
        assert self.pipeline is not None
        return run_epoch(self.pipeline, plan, cast("Learner", self.learner), self.observer)

    def _patience_is_over(self, progress: Progress) -> bool:
        return self.patience_epochs is not None and progress.stale >= self.patience_epochs

    def _plan(self, epoch: int, order: Tensor) -> Plan:
        """This rank's."""
        ranks = self.learner.ranks
        plan = Plan(order, self.batch_size, epoch, ranks.rank, ranks.world)
        return plan if self.max_batches is None else plan.first(self.max_batches)

    def _epoch(self, epoch: int, order: Tensor) -> EpochFigures:
        wait_for_all(self.learner.ranks)
        done = self._run(self._plan(epoch, order))
        due = (epoch + 1) % self.validate_every == 0 or epoch == self.epochs - 1
        return EpochFigures(
            epoch=epoch, batches=done.batches, epoch_s=done.epoch_s,
            prepare_s=self.observer.total_s("prepare"), blocked_s=self.observer.total_s("blocked"),
            transfer_s=self.observer.total_s("transfer"), train_s=self.observer.total_s("train"),
            unique_nodes=done.unique_nodes, sampled_edges=done.sampled_edges, loss=done.loss,
            learning_rate=float(self.learner.lr),
            valid_accuracy=self.validate(self.learner.bare_model) if self.validate and due else None,
        )  # fmt: skip


def sampled_validation(
    graph: Graph, pipeline: Pipeline, learner: Learner, batch_size: int, precision: Precision
) -> Callable[[GNN], float]:
    """Accuracy on sampled neighbourhoods, the same at every validation; the ranks share the nodes."""
    ranks = learner.ranks
    plan = Plan(graph.tensor("valid"), batch_size, 0, ranks.rank, ranks.world)

    def validate(model: GNN) -> float:
        correct = sum_over_ranks(count_correct(model, pipeline, plan, precision), ranks)
        return int(correct) / len(plan.order)

    return validate


def layerwise_validation(graph: Graph, precision: Precision) -> Callable[[GNN], float]:
    """Accuracy on full neighbourhoods; every rank computes it for itself."""
    nodes = graph.tensor("valid")
    labels = graph.tensor("labels")[nodes]

    def validate(model: GNN) -> float:
        found = layerwise_classes(model, graph, nodes, precision=precision)
        return int((found == labels).sum()) / len(nodes)

    return validate
