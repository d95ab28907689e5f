"""Whole epochs on the device: as many steps as batches, and none of them on less than was sampled."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from hone.config.models import HyperParameters
from hone.gnn.device.loop import GROUPS, DeviceLoop, group_size, measured_room
from hone.gnn.device.memory import BatchRoom, Room
from hone.gnn.device.passes import sage_model
from hone.gnn.device.sage import SagePass
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.streams import Aside
from hone.gnn.device.weights import Weights
from hone.gnn.models import build_model
from hone.gnn.seeds import Plan, shuffled
from tests.gnn.device.test_streams import Stream

FANOUTS, BATCH = (5, 4, 3), 24
HYPER = HyperParameters(hidden=16, fanouts=FANOUTS, batch_size=BATCH, lr=0.01, dropout=0.1)


class Made:
    """A model on the device that is ready to be trained."""

    def __init__(self, kernels, graph, room=None):
        room = room or Room.largest(BATCH, FANOUTS, len(graph.labels))
        self.graph, self.kernels = graph, kernels
        self.model = build_model("sage", inputs=16, hidden=16, outputs=4, layers=3, dropout=0.1, seed=1)
        self.weights = Weights(self.model, graph.features, HYPER, kernels)
        self.sampler = DeviceSampler(graph, room, kernels, seed=5, max_seeds=600, deterministic=True)

    def loop(self, **options):
        model = sage_model(self.weights, self.graph, 0.1, self.kernels)
        return DeviceLoop(self.graph, model, self.sampler, **options)


def plan_of(epoch, seeds=130):
    return Plan(shuffled(torch.arange(seeds), 2, epoch), BATCH, epoch=epoch)


def one_by_one(made, epochs):
    """What the loop must come to, batch after batch in one room."""
    part = SagePass(made.weights, made.graph, made.sampler.room, 0.1, made.kernels)
    place = BatchRoom(made.sampler.room, 3, made.graph.labels.device, 16)
    for epoch in range(epochs):
        made.sampler.begin(plan_of(epoch))
        for _ in range(len(plan_of(epoch))):
            made.sampler.make_ready(1)
            made.sampler.sample(place)
            part.gather(place)
            part.forward(place, training=True)
            part.backward(place)
            made.weights.update()
    return float(made.weights.loss_sum)


def watched_gathers(loop, monkeypatch):
    """(what, number of the room in its group) in the order of the calls; `stepped` where a step begins."""
    seen, rooms = [], {id(room): place for group in loop._groups for place, room in enumerate(group.rooms)}
    gather, forward = loop._pass.gather, loop._pass.forward

    def noted_gather(room):
        seen.append(("gathered", rooms[id(room)]))
        gather(room)

    def noted_forward(room, **options):
        seen.append(("stepped", rooms[id(room)]))
        return forward(room, **options)

    monkeypatch.setattr(loop._pass, "gather", noted_gather)
    monkeypatch.setattr(loop._pass, "forward", noted_forward)
    return seen


@pytest.mark.parametrize("place", ["gpu", "host"])
def test_features_are_gathered_during_the_step_before_and_only_of_batches_that_there_are(
    kernels, device_graph, monkeypatch, place
):
    """Six batches in groups of four: the second group has two. A link to features is busy from a step's beginning."""
    made = Made(kernels, replace(device_graph, place=place))
    loop = made.loop(group=4)
    if loop._side is not None:
        pytest.skip("calls are captured on a GPU")
    seen = watched_gathers(loop, monkeypatch)
    loop.run(plan_of(0))
    trained = [place for what, place in seen if what == "stepped"]
    assert trained == [0, 1, 2, 3, 0, 1]
    assert sorted(place for what, place in seen if what == "gathered") == [0, 0, 1, 1, 2, 3]
    for following in (1, 2, 3):
        step = seen.index(("stepped", following - 1))
        assert seen.index(("gathered", following)) == (step + 1 if place == "gpu" else step - 1)


def test_a_step_waits_for_its_features(kernels, device_graph, device, monkeypatch):
    """Told by streams that only note who waits for whom."""
    if device.type != "cpu":
        pytest.skip("streams of a GPU do not tell")
    loop = Made(kernels, device_graph).loop(group=4)
    seen = watched_gathers(loop, monkeypatch)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: Stream("main", seen))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    loop._gathering = Aside(Stream("gathering", seen))
    loop.run(plan_of(0))
    begun = [at for at, what in enumerate(seen) if what[0] == "stepped"]
    assert len(begun) == 6
    for at in begun:
        before = [what for what in seen[:at] if what in (("gathering", "main"), ("main", "gathering"))]
        assert before[-1] == ("main", "gathering")


@pytest.mark.parametrize("layers", [1, 2])
def test_models_of_few_layers_have_their_features_gathered_too(kernels, device_graph, layers):
    """Several batches in a group end as one batch after the other does."""
    losses = []
    for group in (1, 4):
        model = build_model("sage", inputs=16, hidden=16, outputs=4, layers=layers, dropout=0.1, seed=1)
        hyper = HYPER.model_copy(update={"fanouts": FANOUTS[:layers]})
        weights = Weights(model, device_graph.features, hyper, kernels)
        room = Room.largest(BATCH, FANOUTS[:layers], len(device_graph.labels))
        sampler = DeviceSampler(device_graph, room, kernels, seed=5, max_seeds=600, deterministic=True)
        loop = DeviceLoop(device_graph, sage_model(weights, device_graph, 0.1, kernels), sampler, group=group)
        losses.append([loop.run(plan_of(epoch)) for epoch in range(2)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


@pytest.mark.parametrize("group", [1, 4, 16])
def test_an_epoch_is_its_batches_one_after_the_other(kernels, device_graph, group):
    expected, made = Made(kernels, device_graph), Made(kernels, device_graph)
    total = one_by_one(expected, 2)
    loop = made.loop(group=group)
    assert sum(loop.run(plan_of(epoch)) for epoch in range(2)) == pytest.approx(total, rel=1e-12)
    assert torch.equal(made.weights.parameters, expected.weights.parameters)
    assert loop.overflows == 0


def test_batches_that_do_not_fit_are_trained_on_whole(kernels, device_graph):
    ample, tight = Made(kernels, device_graph), Made(kernels, device_graph, Room((BATCH, 110, 290), FANOUTS))
    loops = ample.loop(), tight.loop()
    losses = [sum(loop.run(plan_of(epoch)) for epoch in range(3)) for loop in loops]
    steps = 3 * len(plan_of(0))
    assert 0 < loops[1].overflows < steps
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert torch.allclose(ample.weights.parameters, tight.weights.parameters, atol=2e-3)


def test_an_epoch_without_seeds(kernels, device_graph):
    made = Made(kernels, device_graph)
    before = made.weights.parameters.clone()
    assert made.loop().run(Plan(torch.arange(0), BATCH)) == 0.0
    assert torch.equal(made.weights.parameters, before)


def test_a_training_goes_on_from_its_state(kernels, device_graph):
    whole, first, second = (Made(kernels, device_graph) for _ in range(3))
    loop = whole.loop()
    for epoch in range(2):
        loop.run(plan_of(epoch))
    first.loop().run(plan_of(0))
    second.weights.load_state({name: tensor.clone() for name, tensor in first.weights.state().items()})
    second.loop().run(plan_of(1))
    assert torch.equal(second.weights.parameters, whole.weights.parameters)


def test_the_measured_room_is_enough_for_what_was_measured_and_not_for_all_there_can_be(kernels, device_graph):
    made = Made(kernels, device_graph, Room.largest(8, (2, 2, 2), 600))
    plan = Plan(torch.arange(160), 8)
    room = measured_room(made.sampler, plan, 3, multiple=4)
    assert room.nodes[0] == 8
    assert all(mine <= most for mine, most in zip(room.nodes, made.sampler.room.nodes, strict=True))
    place = BatchRoom(room, 3, device_graph.labels.device)
    narrow = made.sampler.with_room(room)
    narrow.begin(plan)
    for _ in range(len(plan)):
        narrow.make_ready(1)
        narrow.sample(place)
        assert not place.overflow


@pytest.mark.parametrize(
    ("batches", "size"), [(1179, 9), (295, 7), (590, 10), (64, 8), (24, 12), (23, 12), (11, 6), (1, 1), (0, 1)]
)
def test_groups_leave_few_batches_over(batches, size):
    assert batches < 2 * GROUPS[-1] or batches % group_size(batches) == min(batches % some for some in GROUPS)
    assert group_size(batches) == size


def test_a_loop_that_was_closed_goes_on(kernels, device_graph):
    one, other = Made(kernels, device_graph), Made(kernels, device_graph)
    loop, closed = one.loop(), other.loop()
    for epoch in range(2):
        assert loop.run(plan_of(epoch)) == closed.run(plan_of(epoch))
        closed.close()
