"""Whole epochs on the device: as many steps as batches, and none of them on less than was sampled."""

import pytest
import torch

from hone.config.models import HyperParameters
from hone.gnn.device.loop import GROUPS, DeviceLoop, group_size, measured_room
from hone.gnn.device.memory import BatchRoom, Room
from hone.gnn.device.passes import sage_model
from hone.gnn.device.sage import SagePass
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.weights import Weights
from hone.gnn.models import build_model
from hone.gnn.seeds import Plan, shuffled

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
