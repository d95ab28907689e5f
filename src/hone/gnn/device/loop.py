"""An epoch on the device: groups of batches sampled ahead on one stream, trained on another, both out of CUDA graphs.
Features of a batch are gathered during the step on the batch before it.

The host looks at one number for each batch, whether it fitted into its room, and only at those of a group that was
sampled while the group before it was trained. A batch that did not fit is sampled again with room for the largest
batch there can be: no batch is ever cut short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from hone.gnn.device.memory import BatchRoom, Room
from hone.gnn.device.parts import EpochWatch, Unwatched
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.streams import IN_TURN, Aside, graph_of, nothing, stream_on

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.memory import DeviceGraph
    from hone.gnn.device.passes import DeviceModel, Pass
    from hone.gnn.seeds import Plan

GROUP = 4
"""Batches of a launch."""
GROUPS = range(6, 13)
"""The same where a step has few launches: enough that the host has a millisecond for the next one, also where several
processes wait for the slowest of them."""
AHEAD = 2
"""Groups that there is room for: one is trained, the next is sampled."""


class Priorities(NamedTuple):
    """Of the loop's streams; the least goes first."""

    step: int
    sampling: int
    aside: int
    gathering: int


PRIORITIES = Priorities(step=-3, sampling=-2, aside=-1, gathering=0)
"""A step is the longest chain. Sampling is one of short kernels that leave most of the GPU to others. Gradients that
only a step's end waits for come before gathering features, which has time until the next step and would otherwise hold
them up."""


class Group:
    """Rooms of a group's batches, and its two graphs."""

    def __init__(self, number: int, room: Room, layers: int, device: torch.device, size: int, width: int) -> None:
        self.number = number
        self.rooms = [BatchRoom(room, layers, device, width) for _ in range(size)]
        self.sample: Callable[[], object] | None = None
        self.train: Callable[[], object] | None = None
        self.sampled, self.trained = _event(device), _event(device)


class DeviceLoop:
    """Trains a model over epochs; on a CPU (with kernels for one, as tests have) without streams and graphs.

    `close` before processes part: NCCL's communicator waits for graphs that have it inside.
    """

    def __init__(
        self, graph: DeviceGraph, model: DeviceModel, sampler: DeviceSampler, *, group: int = GROUP,
        priorities: Priorities = PRIORITIES,
    ) -> None:  # fmt: skip
        """Rooms are the sampler's. Graphs are captured when the first epoch begins."""
        self.graph, self.weights, self._sampler = graph, model.weights, sampler
        self._model = model
        self._device = graph.features.device
        self._layers = len(sampler.room.fanouts)
        self._pass = model.passes(sampler.room)
        self._width = graph.features.shape[1]
        self._groups = [
            Group(number, sampler.room, self._layers, self._device, group, self._width) for number in range(AHEAD)
        ]
        self._largest: tuple[DeviceSampler, BatchRoom, Pass] | None = None
        self._priorities = priorities
        self._side = stream_on(self._device, priorities.sampling)
        self._aside = Aside(stream_on(self._device, priorities.aside))
        self._gathering = Aside(stream_on(self._device, priorities.gathering))
        self.group = group
        """Batches of a launch."""
        self.overflows = 0
        """Batches so far that did not fit into their room."""
        self._watch: Unwatched = Unwatched()

    def run(self, plan: Plan) -> float:
        """One epoch; the sum of all seeds' losses, over all ranks. Waits for the device once, at the end."""
        size = len(self._groups[0].rooms)
        if self._side is not None and self._groups[0].sample is None:
            self._capture(plan)
        self._watch.begin()
        with self._sampling():
            self._sampler.begin(plan)
        starts = range(0, len(plan), size)
        counts = [min(size, len(plan) - first) for first in starts]
        if counts:
            self._sample(0, counts[0])
        for number, first in enumerate(starts):
            if number + 1 < len(counts):
                self._sample(number + 1, counts[number + 1])
            self._train(number, first, counts[number], plan)
        total = float(self._take_loss())
        for number in range(max(0, len(counts) - AHEAD), len(counts)):
            self._watch.take(number % AHEAD, counts[number])
        return total

    @contextmanager
    def watched(self) -> Iterator[EpochWatch]:
        """Epochs inside have timers, in graphs of their own; those behind it begin with graphs without."""
        watch = EpochWatch(self._device, AHEAD, len(self._groups[0].rooms))
        self.close()
        self._look(watch)
        yield watch
        self.close()
        self._look(Unwatched())

    def close(self) -> None:
        """Give the graphs back; another epoch would make them again."""
        if self._side is not None:
            torch.cuda.synchronize(self._device)
        for group in self._groups:
            group.sample = group.train = None

    def one_by_one(self, plan: Plan, batches: int) -> Iterator[BatchRoom]:
        """Train on an epoch's first batches, which fit, one after the other on one stream: for those who look on."""
        room = self._groups[0].rooms[0]
        self._sampler.begin(plan)
        for _ in range(batches):
            self._sampler.make_ready(1)
            self._sampler.sample(room)
            self._pass.gather(room)
            self._step(self._pass, room, IN_TURN)
            yield room

    @property
    def noting(self) -> bool:
        """Whether the builtin operators of a GraphSAGE note what passes of a state."""
        return self._model.operators is None or self._model.operators.noting

    @property
    def unread(self) -> frozenset[int]:
        """Hops for which nobody lists who reads a source."""
        return self._model.unread

    @property
    def deterministic(self) -> bool:
        """Whether sums are in the same order every time."""
        return self._sampler.deterministic

    # ------------------------------------------------------------------------------------------------ one group

    def _sample(self, number: int, count: int) -> None:
        """Sample a group, once the one that had its rooms before has been trained."""
        group = self._groups[number % AHEAD]
        with self._sampling():
            _wait(group.trained)
            with self._watch.sampling():
                self._sampler.make_ready(count)
                if group.sample is not None and count == len(group.rooms):
                    group.sample()
                else:
                    self._sample_all(group, count)
            _record(group.sampled)

    def _sample_all(self, group: Group, count: int) -> None:
        """With the features of its first batch; those of another are gathered during the step before it."""
        for place, room in enumerate(group.rooms[:count]):
            self._sampler.sample(room)
            if place == 0:
                self._gather(room)
        self._gathering.join()

    def _gather(self, room: BatchRoom) -> None:
        with self._gathering():  # of rows that are there, also for a batch that did not fit
            self._pass.gather(room)

    def _train(self, number: int, first: int, count: int, plan: Plan) -> None:
        """Train on a group as soon as it has been sampled."""
        group = self._groups[number % AHEAD]
        if number >= AHEAD:
            self._watch.take(group.number, len(group.rooms), group.trained)
        _wait(group.sampled)
        if group.sampled is not None:
            group.sampled.synchronize()  # it was sampled while the group before was trained
        overflowed = [bool(room.seen_overflow) for room in group.rooms[:count]]
        if group.train is not None and count == len(group.rooms) and not any(overflowed):
            group.train()
        else:
            for place, meanwhile in self._meanwhile(group, count):
                self._watch.at(group.number, place)
                if overflowed[place]:
                    self._again(first + place, plan, meanwhile)
                else:
                    self._step(self._pass, group.rooms[place], self._aside, meanwhile)
        _record(group.trained)

    def _meanwhile(self, group: Group, count: int) -> Iterator[tuple[int, Callable[[], None]]]:
        """Places of a group's batches, and what is to be done during the step on each."""
        for place, following in enumerate([*group.rooms[1:count], None]):
            self._gathering.join()
            yield place, nothing if following is None else partial(self._gather, following)

    def _step(self, part: Pass, room: BatchRoom, aside: Aside, meanwhile: Callable[[], None] = nothing) -> None:
        mark = self._watch.mark
        mark("begun")
        if self.graph.place != "gpu":  # features come by a link that has to be busy all the time
            meanwhile()
            meanwhile = nothing
        part.forward(room, training=True, meanwhile=meanwhile)
        part.backward(room, aside)
        mark("computed")
        aside.join()
        mark("joined")
        self.weights.sum_gradients()
        mark("summed")
        self.weights.update()
        mark("stepped")

    def _look(self, watch: Unwatched) -> None:
        self._watch, self.weights.mark = watch, watch.mark

    def _again(self, index: int, plan: Plan, meanwhile: Callable[[], None]) -> None:
        """Sample a batch that did not fit with room for any, and step on it."""
        self.overflows += 1
        if self._largest is None:
            fanouts = self._sampler.room.fanouts
            numbered, nodes = self._model.numbered, self._sampler.room.nodes
            room = Room.largest(nodes[0], fanouts, len(self.graph.labels), numbered=numbered)
            sampler, part = self._sampler.with_room(room), self._model.passes(room)
            self._largest = (sampler, BatchRoom(room, self._layers, self._device, self._width), part)
        sampler, place, part = self._largest
        sampler.begin(plan, index)
        sampler.make_ready(1)
        sampler.sample(place)
        part.gather(place)
        self._step(part, place, self._aside, meanwhile)

    # -------------------------------------------------------------------------------------------------- graphs

    def _capture(self, plan: Plan) -> None:
        """Make the graphs of all groups; parameters and losses stay as they are."""
        before = {name: tensor.clone() for name, tensor in self.weights.state().items()}
        with self._sampling():
            self._sampler.begin(plan)
            self._sampler.make_ready(2 * len(self._groups[0].rooms))
            self._sample_all(self._groups[0], 1)
        torch.cuda.synchronize(self._device)
        first = stream_on(self._device, self._priorities.step)
        with torch.cuda.stream(first):  # libraries choose their kernels and get their memory when they are first used
            self._step(self._pass, self._groups[0].rooms[0], self._aside)
        torch.cuda.synchronize(self._device)
        pool = torch.cuda.graph_pool_handle()  # one for both: they are launched in turn
        for group in self._groups:
            group.sample = graph_of(partial(self._sample_all, group, len(group.rooms)), self._side)
            group.train = graph_of(partial(self._train_all, group), first, pool)
        self.weights.load_state(before)
        self._take_loss()

    def _train_all(self, group: Group) -> None:
        for place, meanwhile in self._meanwhile(group, len(group.rooms)):
            self._watch.at(group.number, place)
            self._step(self._pass, group.rooms[place], self._aside, meanwhile)

    def _sampling(self) -> AbstractContextManager[Any]:
        return torch.cuda.stream(self._side) if self._side is not None else nullcontext()

    def _take_loss(self) -> Tensor:
        total = self.weights.loss_sum.clone()
        self.weights.loss_sum.zero_()
        return total


def group_size(batches: int) -> int:
    """Batches of a launch such that few of an epoch are left over, which are launched kernel by kernel.

    A short epoch is two groups, so that one is sampled while the other is trained.
    """
    if batches < AHEAD * GROUPS[-1]:
        return max(1, -(-batches // AHEAD))
    return min(reversed(GROUPS), key=lambda size: batches % size)


def measured_room(
    sampler: DeviceSampler, plan: Plan, layers: int, *, batches: int = 64, sigmas: float = 4.0, multiple: int = 128
) -> Room:
    """Room for nearly every batch: mean and so many standard deviations over some, with a sampler that has all room."""
    most = sampler.room
    place = BatchRoom(most, layers, sampler.graph.features.device)
    sampler.begin(plan)
    found = []
    for _ in range(min(batches, len(plan))):
        sampler.make_ready(1)
        sampler.sample(place)
        found.append(place.sizes[: len(most.nodes)].double().cpu())
    sizes = torch.stack(found)
    spread = sizes.std(dim=0) if len(found) > 1 else torch.zeros(len(most.nodes), dtype=torch.float64)
    wanted = (sizes.max(dim=0).values.maximum(sizes.mean(dim=0) + sigmas * spread) / multiple).ceil() * multiple
    nodes = [min(int(want), room) for want, room in zip(wanted, most.nodes, strict=True)]
    return Room(tuple(accumulate((most.nodes[0], *nodes[1:]), max)), most.fanouts)


def _event(device: torch.device) -> torch.cuda.Event | None:
    return torch.cuda.Event() if device.type == "cuda" else None  # type: ignore[no-untyped-call]


def _record(event: torch.cuda.Event | None) -> None:
    if event is not None:
        event.record()


def _wait(event: torch.cuda.Event | None) -> None:
    if event is not None:
        event.wait()
