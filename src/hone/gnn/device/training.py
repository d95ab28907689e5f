"""The system `device` as the training stage sees it: a learner, a trainer around the loop, and inference."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from hone.gnn.device.kernel_work import BatchCounts
from hone.gnn.device.loop import AHEAD, GROUP, GROUPS, PRIORITIES, DeviceLoop, Priorities, group_size, measured_room
from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.native import Library
from hone.gnn.device.operators import Operators, SelectedOperators
from hone.gnn.device.parts import description, process_parts
from hone.gnn.device.passes import DeviceModel, device_model, sage_model
from hone.gnn.device.places.budget import inference_reserve, training_reserve
from hone.gnn.device.places.placement import Load, placed_graph, say
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.weight_gradient import WeightGradient, is_faster
from hone.gnn.distributed import Ranks, of_all_ranks, sum_over_ranks, wait_for_all
from hone.gnn.observer import SpanObserver
from hone.gnn.seeds import Plan, derived_seed, shuffled
from hone.gnn.train import Epoch, Trainer
from hone.records.gnn import EpochParts

if TYPE_CHECKING:
    from torch import Tensor

    from hone.config.trainings import Placement
    from hone.gnn.device.weights import FlatWeights, Weights
    from hone.gnn.graph import Graph
    from hone.gnn.job import TrainingJob
    from hone.gnn.models.model import GNN
    from hone.gnn.train import Progress
    from hone.records.gnn import Place, Span

COUNTED_BATCHES = 8
WARMUP_BATCHES = 4 * GROUPS[-1]
"""Both groups' graphs are launched twice."""
FEATURES = "mean_of_features"
"""The operator that reads the features, whose kernels are for bfloat16."""


class DeviceLearner:
    """What the trainer and the stage ask of a learner; the steps themselves are the loop's."""

    def __init__(self, weights: FlatWeights, device: torch.device, ranks: Ranks) -> None:
        self.device, self.ranks = device, ranks
        self._weights = weights

    @property
    def bare_model(self) -> GNN:
        """The model with the parameters as they are now."""
        return self._weights.store()

    @property
    def lr(self) -> Tensor:
        """The learning rate, a scalar on the device."""
        return self._weights.rate

    def state(self) -> dict[str, Any]:
        """Everything that later steps depend on."""
        return self._weights.state()

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self._weights.load_state(state)


@dataclass(frozen=True)
class DeviceTrainer(Trainer):
    """Epochs are the device loop's; there is no pipeline of the host's."""

    loop: DeviceLoop
    unique_nodes: float
    """Of a batch, all hops, as some batches had it."""
    sampled_edges: float
    log: Path | None = None

    def close(self) -> None:
        """Before processes part."""
        self.loop.close()

    @property
    def placement(self) -> Place:
        """As it was chosen."""
        return self.loop.graph.place

    def timeline(self, batches: int) -> tuple[Span, ...]:
        """None: batches overlap in graphs that nobody looks into."""
        return ()

    def _run(self, plan: Plan) -> Epoch:
        self.observer.begin_epoch()
        begun_s = time.perf_counter()
        with self.observer.on_device("train", 0, "gpu"):
            loss = self.loop.run(plan)
        epoch_s = time.perf_counter() - begun_s
        self.observer.end_epoch()
        return Epoch(len(plan), epoch_s, loss / max(1, len(plan.order)), self.unique_nodes, self.sampled_edges)

    def parts(self, progress: Progress) -> EpochParts | None:
        """Of the last epoch's batches, trained once more with timers."""
        if not progress.epochs:
            return None
        learner, epoch = self.learner, len(progress.epochs) - 1
        before = {name: value.clone() for name, value in learner.state().items()}
        plan = self._plan(epoch, shuffled(self.graph.tensor("train"), self.seed, epoch))
        with self.loop.watched() as watch:
            self.loop.run(plan.first(WARMUP_BATCHES))  # a graph's first launch takes longer
            wait_for_all(learner.ranks)
            begun_s = time.perf_counter()
            self.loop.run(plan)
            epoch_s = time.perf_counter() - begun_s
        learner.load_state(before)
        steps, sample_s = (
            of_all_ranks(values.to(learner.device), learner.ranks).cpu()
            for values in (watch.steps, torch.tensor(watch.sample_s, dtype=torch.float64))
        )
        processes = process_parts(steps, sample_s)
        parts = EpochParts(epoch=epoch, batches=len(plan), epoch_s=epoch_s, processes=processes)
        say(description(parts, progress.epochs[-1].epoch_s), learner.ranks, self.log)
        return parts


def device_trainer(
    job: TrainingJob, graph: Graph, model: GNN, library: Path, device: torch.device, ranks: Ranks,
    log: Path | None = None,
) -> DeviceTrainer:  # fmt: skip
    """Everything a job's training needs, in the device's memory or where it can read it, which a line in `log` says.

    Raises MachineError for a graph that does not fit, ConfigError for fan-outs that the kernels cannot do,
    OperatorError for a selected kernel that cannot be loaded.
    """
    kernels = Library(library)
    operators = SelectedOperators(kernels, job.objects, job.definitions) if job.objects else Operators(kernels)
    arrays = training_graph(job, graph, device, ranks, log)
    on_device, loop, counts = device_loop(job, graph, model, arrays, operators, kernels, ranks)
    learner = DeviceLearner(on_device.weights, device, ranks)
    return DeviceTrainer(
        graph, learner, None, SpanObserver(device), _validation(job, graph, arrays, on_device, kernels, ranks),
        seed=job.seed, batch_size=job.hyper.batch_size, epochs=job.hyper.epochs,
        validate_every=job.validation.every_epochs if job.validation else 1,
        patience_epochs=job.hyper.patience_epochs, max_batches=job.max_batches, loop=loop,
        unique_nodes=counts.feature_rows, sampled_edges=counts.edges, log=log,
    )  # fmt: skip


def training_graph(
    job: TrainingJob, graph: Graph, device: torch.device, ranks: Ranks, log: Path | None = None
) -> DeviceGraph:
    """The graph where a job's training reads it; raises as `device_trainer`."""
    load = Load(graph.tensor("train"), job.hyper.batch_size, job.hyper.fanouts)
    rooms = AHEAD * _group(job, first_plan(job, graph, ranks)) + 1  # one that needs more room
    return placed_graph(
        graph, device, _wanted(job, ranks), load, training_reserve(job.model, job.hyper, graph.info, rooms), ranks,
        dtype=torch.bfloat16 if FEATURES in job.objects else None, log=log,
    )  # fmt: skip


def device_loop(
    job: TrainingJob, graph: Graph, model: GNN, arrays: DeviceGraph, operators: Operators, kernels: Library,
    ranks: Ranks, priorities: Priorities = PRIORITIES,
) -> tuple[DeviceModel, DeviceLoop, BatchCounts]:  # fmt: skip
    """The model on the device, the loop that trains it, and what some batches have; raises as `device_trainer`."""
    plan = first_plan(job, graph, ranks)
    on_device = device_model(job, model, arrays, kernels, ranks, graph.info, operators)
    ample = DeviceSampler(
        arrays,
        Room.largest(job.hyper.batch_size, job.hyper.fanouts, graph.info.num_nodes, numbered=on_device.numbered),
        kernels, seed=derived_seed("sampler", job.seed), max_seeds=len(plan.order), world=ranks.world, rank=ranks.rank,
        deterministic=job.deterministic, operators=on_device.operators,
    )  # fmt: skip
    counts = _counted(ample, plan, job.layers)
    if job.model == "sage":
        on_device = _through_states(job, on_device, arrays, operators, kernels, counts)
    sampler = ample.with_room(measured_room(ample, plan, job.layers), on_device.unread)
    return on_device, DeviceLoop(arrays, on_device, sampler, group=_group(job, plan), priorities=priorities), counts


def _through_states(
    job: TrainingJob, model: DeviceModel, arrays: DeviceGraph, operators: Operators, kernels: Library,
    counts: BatchCounts,
) -> DeviceModel:  # fmt: skip
    """The model with its first weights' gradient in one kernel, where that is faster for such batches."""
    weights, device = cast("Weights", model.weights), arrays.features.device
    (inputs, width), hop = weights.gradients[0].shape, job.layers - 2
    if job.layers < 2 or not operators.noting or not WeightGradient.has(kernels, inputs, width, device):
        return model
    if not is_faster(counts.hops[hop], job.hyper.fanouts[hop], inputs, width):
        return model
    of_weights = WeightGradient(kernels, inputs, width, device, in_turn=job.deterministic)
    return sage_model(weights, arrays, job.hyper.dropout, kernels, operators, of_weights)


def first_plan(job: TrainingJob, graph: Graph, ranks: Ranks) -> Plan:
    """A job's first epoch."""
    order = shuffled(graph.tensor("train"), job.seed, 0)
    return Plan(order, job.hyper.batch_size, 0, ranks.rank, ranks.world)


def _group(job: TrainingJob, plan: Plan) -> int:
    """Batches of a launch; steps by autograd have hundreds of launches each."""
    return group_size(min(len(plan), job.max_batches or len(plan))) if job.model == "sage" else GROUP


class DeviceInference:
    """Accuracy on sampled neighbourhoods, with the same kernels and room for every batch."""

    def __init__(
        self, graph: DeviceGraph, model: DeviceModel, fanouts: tuple[int, ...], batch_size: int, library: Library, *,
        seed: int, max_seeds: int,
    ) -> None:  # fmt: skip
        room = Room.largest(batch_size, fanouts, len(graph.labels), numbered=model.numbered)
        self._graph, self._classes = graph, model.classes
        self._sampler = DeviceSampler(graph, room, library, seed=seed, max_seeds=max_seeds, operators=model.operators)
        self._place = BatchRoom(room, len(fanouts), graph.labels.device, graph.features.shape[1])
        self._pass = model.passes(room)

    def count_correct(self, plan: Plan) -> Tensor:
        """How many of this rank's nodes of the plan get their class: a scalar on the device."""
        return self.right(plan).sum()

    def right(self, plan: Plan) -> Tensor:
        """Whether each of this rank's nodes of the plan gets its class: (n,) bool on the device."""
        place = self._place
        found = [torch.empty(0, dtype=torch.bool, device=self._graph.labels.device)]
        self._sampler.begin(plan)
        for index in range(len(plan)):
            self._sampler.make_ready(1)
            self._sampler.sample(place)
            self._pass.gather(place)
            scores = self._pass.forward(place, training=False)[:, : self._classes]
            found.append((scores.argmax(dim=1) == place.labels[: plan.batch_size])[: len(plan.seeds(index))])
        return torch.cat(found)


def device_inferences(
    job: TrainingJob, graph: Graph, model: GNN, library: Path, device: torch.device
) -> Callable[[tuple[int, ...]], DeviceInference]:
    """Fan-outs -> what counts a trained model's right answers on the job's splits; the graph is loaded once.

    Raises as `device_trainer`.
    """
    kernels = Library(library)
    seeds = [graph.tensor(split) for split in job.inference.splits]
    fanouts = job.inference.fanouts or (job.hyper.inference_fanouts,)
    everyone = torch.cat([torch.empty(0, dtype=torch.int64), *seeds])
    arrays = placed_graph(
        graph, device, _wanted(job, Ranks()), Load(everyone, job.hyper.inference_batch_size, fanouts[0]),
        inference_reserve(job.model, job.hyper, graph.info, fanouts), Ranks(),
    )  # fmt: skip
    on_device = device_model(job, model, arrays, kernels, Ranks(), graph.info)
    most = max(map(len, seeds), default=0)
    return lambda fanouts: DeviceInference(
        arrays, on_device, fanouts, job.hyper.inference_batch_size, kernels,
        seed=derived_seed("inference", job.inference.seed), max_seeds=most,
    )  # fmt: skip


def _wanted(job: TrainingJob, ranks: Ranks) -> Placement:
    """The job's placement, where it can be: a process alone shares with nobody, a selected kernel reads one matrix."""
    if FEATURES in job.objects:
        return "gpu"
    return "auto" if job.placement == "sharded" and ranks.world == 1 else job.placement


def _validation(
    job: TrainingJob, graph: Graph, arrays: DeviceGraph, model: DeviceModel, library: Library, ranks: Ranks
) -> Callable[[GNN], float] | None:
    """Sampled, the same at every validation; the ranks share the nodes."""
    if job.validation is None:
        return None
    if job.validation.layerwise:
        from hone.gnn.train import layerwise_validation

        return layerwise_validation(graph, job.precision)
    nodes = graph.tensor("valid")
    inference = DeviceInference(
        arrays, model, job.hyper.validation_fanouts, job.hyper.inference_batch_size, library,
        seed=derived_seed("inference", job.seed), max_seeds=len(nodes),
    )  # fmt: skip
    plan = Plan(nodes, job.hyper.inference_batch_size, 0, ranks.rank, ranks.world)
    return lambda _: int(sum_over_ranks(inference.count_correct(plan), ranks)) / len(nodes)


def _counted(sampler: DeviceSampler, plan: Plan, layers: int) -> BatchCounts:
    """The mean over some batches."""
    place = BatchRoom(sampler.room, layers, sampler.graph.labels.device)
    sampler.begin(plan)
    found = []
    for _ in range(min(COUNTED_BATCHES, len(plan))):
        sampler.make_ready(1)
        sampler.sample(place)
        found.append(BatchCounts.of(place, sampler.graph))
    return BatchCounts.mean(found)
